/** A workspace that its user moves keeps its jobs. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cli, create, createCli, jobIdIn } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const at = (name: string) => join(cli.folder, name);
const read = (path: string) => (existsSync(at(path)) ? readFileSync(at(path), "utf8") : null);

test("after mv, undo and redo work at the new place, and a new folder at the old one has no jobs", () => {
  cli.write("a.txt", "one\n");
  cli.apply([create("a.txt", "two\n"), create("d/b.txt", "b\n")]);
  renameSync(cli.workspace, at("moved"));
  mkdirSync(cli.workspace);
  expect(cli.run(["undo"], { cwd: at("moved") }).code).toBe(0);
  expect([read("moved/a.txt"), read("moved/d/b.txt")]).toEqual(["one\n", null]);
  expect(cli.run(["redo"], { cwd: at("moved") }).code).toBe(0);
  expect([read("moved/a.txt"), read("moved/d/b.txt")]).toEqual(["two\n", "b\n"]);
  expect(cli.run(["show", "--diff"], { cwd: at("moved") }).out).toContain("+two");
  expect(jobIdIn(cli.run(["jobs", "--ids"], { cwd: at("moved") }).out)).not.toBe("");
  expect(jobIdIn(cli.run(["jobs", "--ids"]).out)).toBe("");
});

test("two workspaces that change places keep their own jobs", () => {
  mkdirSync(at("other"));
  cli.apply([create("mine.txt", "mine\n")]);
  cli.apply([create("other.txt", "other\n")], [], { cwd: at("other") });
  renameSync(cli.workspace, at("t"));
  renameSync(at("other"), cli.workspace);
  renameSync(at("t"), at("other"));
  expect(cli.run(["undo"]).code).toBe(0);
  expect([read("ws/other.txt"), read("other/mine.txt")]).toEqual([null, "mine\n"]);
  expect(cli.run(["undo"], { cwd: at("other") }).code).toBe(0);
  expect(read("other/mine.txt")).toBe(null);
});

test("a workspace in a repository that is moved as a whole finds its undo again", () => {
  const inner = join(cli.workspace, "packages/api");
  mkdirSync(inner, { recursive: true });
  cli.git("init", "-q");
  cli.write("packages/api/tracked", "");
  cli.git("add", ".");
  const line = { type: "shell_command", action: "run", target: "echo api >a.txt; echo root >../../r.txt" };
  expect(cli.apply([line], [], { cwd: inner, env: { PICOCLAW_WORKER_TRANSACTION: "copy" } }).code).toBe(0);
  expect(cli.read("r.txt")).toBe("root\n");
  renameSync(cli.workspace, at("elsewhere"));
  expect(cli.run(["undo"], { cwd: at("elsewhere/packages/api") }).code).toBe(0);
  expect([read("elsewhere/packages/api/a.txt"), read("elsewhere/r.txt")]).toEqual([null, null]);
});

test("a copy of a workspace has no jobs of the original", () => {
  cli.apply([create("a.txt", "one\n")]);
  cpSync(cli.workspace, at("copy"), { recursive: true });
  expect(cli.run(["undo"], { cwd: at("copy") }).code).not.toBe(0);
  expect([read("copy/a.txt"), read("ws/a.txt")]).toEqual(["one\n", "one\n"]);
  expect(cli.run(["undo"]).code).toBe(0);
});

test.if(existsSync("/dev/shm") && statSync("/dev/shm").dev !== statSync(tmpdir()).dev)(
  "and so does one whose jobs are kept beside it, when the folder around both is moved",
  () => {
    const home = mkdtempSync("/dev/shm/picoclaw-home-");
    const env = { PICOCLAW_HOME: home };
    mkdirSync(at("around/ws"), { recursive: true });
    expect(cli.apply([create("a.txt", "one\n")], [], { cwd: at("around/ws"), env }).code).toBe(0);
    renameSync(at("around"), at("further"));
    expect(cli.run(["undo"], { cwd: at("further/ws"), env }).code).toBe(0);
    expect(read("further/ws/a.txt")).toBe(null);
    rmSync(home, { recursive: true });
  },
);
