/** Records of jobs that another user laid out for root. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli } from "../e2e/cli-kit.ts";
import { forge } from "../hostile/forged-job.ts";

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0 && process.platform === "linux";
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
  test("in the root of a mount are not kept in the .picoclaw that somebody left there", () => {
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
