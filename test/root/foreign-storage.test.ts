/** Records of jobs that another user laid out for root. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli, PROGRAM } from "../e2e/cli-kit.ts";
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

describe.if(isRoot)("jobs that one run with sudo closed to their user", () => {
  const user = ["--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--clear-groups", PROGRAM];
  const run = (args: readonly string[], input = "") =>
    cli.run([...user, ...args], { input, program: "setpriv" });
  const own = (who: number, path: string) => spawnSync("chown", ["-R", `${who}:${who}`, path]);

  test("are refused with the folder and the remedy, and no older job is undone in their place", () => {
    own(NOBODY, cli.folder);
    for (const path of ["a.txt", "b.txt"])
      expect(run(["apply"], JSON.stringify([create(path, "x\n")])).code).toBe(0);
    const workspaces = join(cli.home, "workspaces");
    const storage = join(workspaces, readdirSync(workspaces)[0] as string);
    const jobs = join(storage, "jobs");
    const [, second] = new Set(readFileSync(join(storage, "order"), "utf8").split("\n"));
    const job = join(jobs, String(second));
    for (const closed of [job, jobs, join(job, "state.json"), join(job, "slots")]) {
      chownSync(closed, 0, 0);
      const named = closed.endsWith(".json") ? job : closed;
      const sentence = `#2 cannot be read, because permission is denied in ${named}\n`;
      const remedy = `sudo chown -R "$(id -u)" '${named}'`;
      const undone = run(["undo"]);
      expect([undone.code, undone.err]).toEqual([3, expect.stringContaining(sentence)]);
      expect(undone.err).toContain(remedy);
      if (closed === job)
        for (const args of [["undo", "1"], ["redo"], ["undo", "--list"]]) {
          const refused = run(args);
          expect([refused.code, refused.err]).toEqual([3, expect.stringContaining(sentence)]);
        }
      for (const args of closed === job
        ? [
            ["jobs", "--all"],
            ["show", "2"],
          ]
        : closed === jobs
          ? [["jobs"]]
          : []) {
        const shown = run(args);
        expect([shown.code, shown.out]).toEqual([0, expect.stringContaining(remedy)]);
      }
      expect(readdirSync(cli.workspace).sort()).toEqual(["a.txt", "b.txt"]);
      chownSync(closed, NOBODY, NOBODY);
    }
    own(0, job);
    const repaired = run(["doctor", "--repair"]);
    expect([repaired.code, repaired.out]).toEqual([1, expect.stringContaining(`denied in ${job}\n`)]);
    own(NOBODY, job);
    expect([run(["undo"]).code, readdirSync(cli.workspace)]).toEqual([0, ["a.txt"]]);
  });
});

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
