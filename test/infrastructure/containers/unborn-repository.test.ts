import { afterEach, beforeEach, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  changeScript,
  diffCommand,
  treeScript,
  unbornRepositories,
} from "../../../src/domain/containers/clone-plan.ts";

let folder = "";
const sh = (script: string) => {
  const { status, stdout, stderr } = spawnSync("sh", ["-c", script], { cwd: folder, encoding: "utf8" });
  return { status, out: stdout.trim(), err: stderr };
};
const put = (path: string, text: string) => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-unborn-"));
  put("a.txt", "a\n");
  sh("git init -q . && git add . && git -c user.name=x -c user.email=x@x commit -qm a");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

for (const exact of [true, false])
  test(`a repository without a commit is left out of the change and named (exact: ${exact})`, () => {
    const base = sh("git rev-parse HEAD").out;
    const index = join(folder, ".git", "own-index");
    const start = sh(treeScript(index, base)).out;
    put("b.txt", "b\n");
    put("new ones/it's/f.txt", "f\n");
    put("plain/f.txt", "f\n");
    sh(`git init -q "new ones/it's"`);
    const change = sh(changeScript(index, { base, start, exact }));
    expect(change.status).toBe(0);
    expect(unbornRepositories(change.err)).toEqual(["new ones/it's"]);
    const names = sh(diffCommand(base, change.out).replace("git diff", "git diff --name-only")).out;
    expect(names.split("\n")).toEqual(["b.txt", "plain/f.txt"]);
  });

test.if(process.getuid?.() !== 0)("a file that cannot be read still ends it", () => {
  const base = sh("git rev-parse HEAD").out;
  const index = join(folder, ".git", "own-index");
  const start = sh(treeScript(index, base)).out;
  put("nested/f", "f\n");
  sh("git init -q nested");
  put("secret", "x\n");
  chmodSync(join(folder, "secret"), 0);
  expect(sh(changeScript(index, { base, start, exact: true })).status).not.toBe(0);
});
