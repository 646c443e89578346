/** Records of jobs that another user laid out for root. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli } from "../e2e/cli-kit.ts";
import { forge } from "../hostile/forged-job.ts";
import { requirePart } from "../require.ts";

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0 && process.platform === "linux";
const mayMount = isRoot && requirePart("mount");
let cli: Cli;
let outside: string;
const mounts: string[] = [];
beforeEach(() => {
  cli = createCli();
  outside = join(cli.folder, "outside");
  mkdirSync(outside, { mode: 0o700 });
});
afterEach(() => {
  for (const point of mounts.splice(0)) spawnSync("umount", ["-l", point]);
  cli.remove();
});
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe.if(isRoot)("root's jobs", () => {
  test.if(mayMount)("in the root of a mount are not kept in a .picoclaw that another user left there", () => {
    expect(spawnSync("mount", ["-t", "tmpfs", "tmpfs", cli.workspace]).status).toBe(0);
    mounts.push(cli.workspace);
    forge(join(cli.workspace, ".picoclaw"), outside);
    spawnSync("chown", ["-R", `${NOBODY}`, join(cli.workspace, ".picoclaw")]);
    expect(cli.apply([create("a.txt", "a\n")]).code).toBe(0);
    expect(modeOf(outside)).toBe(0o700);
    const own = readdirSync(cli.workspace).filter((name) => /^\.picoclaw-[0-9a-f]{16}$/.test(name));
    expect(own.length).toBe(1);
    expect(cli.run(["undo"]).code).toBe(0);
    expect(existsSync(join(cli.workspace, "a.txt"))).toBe(false);
  });

  test.if(mayMount && requirePart("bwrap"))(
    "in the root of a mount are judged by the project's checks, though their storage lies inside",
    () => {
      expect(spawnSync("mount", ["-t", "tmpfs", "tmpfs", cli.workspace]).status).toBe(0);
      mounts.push(cli.workspace);
      cli.write("package.json", JSON.stringify({ name: "x", scripts: { test: "sh t.sh" } }));
      cli.write("t.sh", "grep -q good a.txt\n");
      cli.write("a.txt", "bad\n");
      const patch = [{ type: "file_edit", action: "update", target: "a.txt", content: "good\n" }];
      const script = join(cli.folder, "script.yaml");
      const text = `## Plan\nmend\n\n## Patch\n\`\`\`json\n${JSON.stringify(patch)}\n\`\`\``;
      writeFileSync(script, JSON.stringify([{ text }]));
      const role = { provider: "scripted", model: "x" };
      const config = {
        providers: { scripted: { type: "scripted", script } },
        roles: { coder3: role, chat: role, worker: role },
        security: { local_only: false },
      };
      mkdirSync(cli.home, { recursive: true });
      writeFileSync(join(cli.home, "config.yaml"), JSON.stringify(config));
      const said = cli.run(["chat", "/code3 mend the test"]);
      expect(said.out).toStartWith("Applied: 1 file, npm test green\n");
      expect([said.code, cli.read("a.txt")]).toEqual([0, "good\n"]);
      const kept = readdirSync(join(cli.home, "workspaces"), { recursive: true, encoding: "utf8" });
      expect(kept.filter((name) => name.includes("check-"))).toEqual([]);
    },
  );

  test("are refused where their storage has become another user's", () => {
    expect(cli.apply([create("a.txt", "a\n")]).code).toBe(0);
    const workspaces = join(cli.home, "workspaces");
    const storage = join(workspaces, readdirSync(workspaces)[0] as string);
    forge(storage, cli.workspace);
    chmodSync(storage, 0o700);
    chownSync(storage, NOBODY, NOBODY);
    const mode = modeOf(cli.workspace);
    const ran = cli.run(["undo"]);
    expect(ran.code).toBe(3);
    expect(ran.err).toContain(storage);
    expect(modeOf(cli.workspace)).toBe(mode);
    expect(cli.read("a.txt")).toBe("a\n");
  });
});
