import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requirePart } from "../require.ts";

const root = join(import.meta.dir, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "picoclaw-chat-docs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const text = readFileSync(join(root, "docs/chat.md"), "utf8");
const steady = (shown: string) => shown.replace(/job_\d+_\w{8}/g, "JOB");

function block(after: string, fence: string): string {
  const from = text.indexOf(after);
  const open = text.indexOf(`\n${fence}`, from);
  const start = text.indexOf("\n", open + 1) + 1;
  return text.slice(start, text.indexOf(`\n${fence.match(/^`+/)?.[0]}\n`, start) + 1);
}

if (requirePart("bwrap"))
  test("the transcript of docs/chat.md prints what it shows", () => {
    const [workspace, home] = [join(folder, "ws"), join(folder, "home")];
    mkdirSync(workspace);
    mkdirSync(home);
    writeFileSync(join(workspace, "hello.py"), 'print("hello")\n');
    writeFileSync(join(home, "config.yaml"), block("config.yaml`:", "```yaml"));
    writeFileSync(join(home, "demo.yaml"), block("demo.yaml`:", "````yaml"));
    const env = {
      PATH: `${join(root, "bin")}:${process.env.PATH}`,
      HOME: folder,
      PICOCLAW_HOME: home,
      PICOCLAW_LOCALE: "en",
    };
    const shown = block("that holds", "````console");
    let printed = "";
    for (const [, command] of shown.matchAll(/^\$ (.*)$/gm)) {
      const ran = spawnSync("bash", ["-c", `${command} 2>&1`], { cwd: workspace, env, encoding: "utf8" });
      printed += `$ ${command}\n${ran.stdout}`;
    }
    expect(steady(printed)).toBe(steady(shown));
  }, 300_000);
