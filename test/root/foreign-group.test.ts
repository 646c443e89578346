/** Files whose group is not the user's own: what `chown user` leaves behind, and folders that a team shares. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Cli, createCli, jobIdIn, PROGRAM, type Ran, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

const isRoot = process.getuid?.() === 0 && process.platform === "linux";
const USER = 23456;
const TEAM = 34567;
let cli: Cli;
beforeEach(() => {
  cli = createCli();
  cli.write("a.txt", "one\n");
  cli.write("d/b.txt", "one\n");
  spawnSync("chown", ["-R", `${USER}:${USER}`, cli.folder]);
});
afterEach(() => cli.remove());

/** The program, run by an ordinary user. */
function run(args: readonly string[], input: unknown, options: { groups?: string; env?: object } = {}): Ran {
  const { groups, env = {} } = options;
  const as = [`--reuid=${USER}`, `--regid=${USER}`, groups ? `--groups=${groups}` : "--clear-groups"];
  const ran = spawnSync("setpriv", [...as, PROGRAM, ...args], {
    cwd: cli.workspace,
    env: {
      PATH: process.env.PATH,
      HOME: join(cli.folder, "user"),
      PICOCLAW_HOME: cli.home,
      PICOCLAW_LOCALE: "en",
      ...env,
    },
    input: JSON.stringify(input),
    encoding: "utf8",
    timeout: 120_000,
  });
  return { code: ran.status, out: ran.stdout, err: ran.stderr };
}
/** How a job was staged, by its journal. */
function kindOf({ out }: Ran): string | undefined {
  const [storage] = readdirSync(join(cli.home, "workspaces"));
  const job = join(cli.home, "workspaces", String(storage), "jobs", cli.idOf(jobIdIn(out)));
  return /"kind":"(\w+)"/.exec(readFileSync(join(job, "journal.ndjson"), "utf8"))?.[1];
}
const at = (path: string) => join(cli.workspace, path);

describe.if(isRoot && requirePart("bwrap"))("files of a group that is not the user's own", () => {
  test("do not fail the job: it runs in a copy and says why", () => {
    chownSync(at("a.txt"), USER, 0);
    const ran = run(["apply"], [shell("echo two >> a.txt; echo new > c.txt")]);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.out).toContain("copy (run in a copy of the workspace): files of another group");
    expect(cli.read("a.txt")).toBe("one\ntwo\n");
    expect(ran.out).toContain("a.txt: it has your own group now");
    expect(run(["undo", jobIdIn(ran.out)], "").code).toBe(0);
    expect([cli.read("a.txt"), statSync(at("a.txt")).gid]).toEqual(["one\n", 0]);
  });

  test("keep the group of a team that the user is in", () => {
    for (const path of ["", "d", "d/b.txt"]) chownSync(at(path), USER, TEAM);
    const ran = run(["apply"], [shell("echo two >> d/b.txt")], { groups: `${TEAM}` });
    expect(ran).toMatchObject({ code: 0 });
    expect([cli.read("d/b.txt"), statSync(at("d/b.txt")).gid]).toEqual(["one\ntwo\n", TEAM]);
  });

  test("keep it in an edit where the user is in that group, and say so where not", () => {
    chownSync(at("a.txt"), USER + 1, TEAM);
    chmodSync(at("a.txt"), 0o664);
    const edit = { type: "file_edit", action: "append", target: "a.txt", content: "two\n" };
    const team = run(["apply"], [edit], { groups: `${TEAM}` });
    expect([team.code, kindOf(team)]).toEqual([0, "direct"]);
    const { gid, mode } = statSync(at("a.txt"));
    expect([cli.read("a.txt"), gid, mode & 0o7777]).toEqual(["one\ntwo\n", TEAM, 0o664]);
    expect(team.out).toContain("a.txt: it belongs to you now");
    expect(team.out).not.toContain("your own group");
    chownSync(at("a.txt"), USER, 0);
    const stranger = run(["apply"], [edit]);
    expect([stranger.code, statSync(at("a.txt")).mode & 0o7777]).toEqual([0, 0o664]);
    expect(stranger.out).toContain("a.txt: it has your own group now");
    expect(run(["undo", jobIdIn(stranger.out)], "").code).toBe(0);
    expect(statSync(at("a.txt")).gid).toBe(0);
  });

  test("that come later commit nothing once, and the next job works", () => {
    const first = run(["apply"], [shell("echo two >> d/b.txt")]);
    expect(kindOf(first)).toBe("overlay");
    chownSync(at("a.txt"), USER, 0);
    const failed = run(["apply"], [shell("echo new > c.txt"), shell("echo two >> a.txt")]);
    expect(failed.code).not.toBe(0);
    expect(failed.out).toContain("The next job runs in a copy");
    expect([cli.read("a.txt"), Object.keys(cli.tree()).sort()]).toEqual(["one\n", ["a.txt", "d/b.txt"]]);
    expect(run(["apply"], [shell("echo two >> a.txt")]).code).toBe(0);
    expect(cli.read("a.txt")).toBe("one\ntwo\n");
    spawnSync("chown", ["-R", `${USER}:${USER}`, cli.workspace]);
    const again = run(["apply"], [shell("echo three >> a.txt")]);
    expect([again.code, kindOf(again)]).toEqual([0, "overlay"]);
  });

  test("stay in an overlay where a copy would be too large, or where none could be changed anyway", () => {
    chownSync(at("d/b.txt"), 0, 0);
    const theirs = run(["apply"], [shell("echo two >> a.txt")]);
    expect([theirs.code, kindOf(theirs)]).toEqual([0, "overlay"]);
    chownSync(at("d/b.txt"), USER, 0);
    cli.write("big.bin", "b".repeat(2_000_000));
    chownSync(at("big.bin"), USER, USER);
    const env = { PICOCLAW_WORKER_COPY_LIMIT: "1MB" };
    const large = run(["apply"], [shell("echo three >> a.txt")], { env });
    expect([large.code, kindOf(large)]).toEqual([0, "overlay"]);
  });
});
