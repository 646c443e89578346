import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requirePart } from "../require.ts";

const root = join(import.meta.dir, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "picoclaw-readme-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const readme = readFileSync(join(root, "README.md"), "utf8");

/** What differs from run to run. */
function steady(text: string): string {
  return text.replace(/job_\d+_\w{8}/g, "JOB").replace(/\(\d+ms\)/g, "(Nms)");
}

function block(info: string): string {
  const found = new RegExp(`^(\`{3,})${info}\\n([\\s\\S]*?)^\\1$`, "m").exec(readme);
  if (found === null) throw new Error(`no ${info} block in README.md`);
  return found[2] as string;
}

if (requirePart("bwrap"))
  test("the tour of the README prints what it shows", () => {
    const workspace = join(folder, "ws");
    mkdirSync(workspace);
    writeFileSync(join(workspace, "hello.py"), 'print("hello")\n');
    writeFileSync(join(workspace, ".env"), "TOKEN=secret\n");
    writeFileSync(join(workspace, "patch.md"), block("markdown"));
    const env = {
      PATH: `${join(root, "bin")}:${process.env.PATH}`,
      HOME: folder,
      PICOCLAW_HOME: join(folder, "home"),
      PICOCLAW_LOCALE: "en",
    };
    const shown = block("console");
    let printed = "";
    for (const [, command] of shown.matchAll(/^\$ (.*)$/gm)) {
      const ran = spawnSync("bash", ["-c", `${command} 2>&1`], { cwd: workspace, env, encoding: "utf8" });
      printed += `$ ${command}\n${ran.stdout}`;
    }
    expect(steady(printed)).toBe(steady(shown));
  }, 30_000);

test("every document that the README names is there", () => {
  for (const [, path] of readme.matchAll(/\]\(([\w./-]+)\)/g))
    expect([path, Bun.file(join(root, path as string)).size > 0]).toEqual([path as string, true]);
});
