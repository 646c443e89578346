import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const WHO = {
  GIT_AUTHOR_NAME: "Alice",
  GIT_AUTHOR_EMAIL: "alice@example.org",
  GIT_COMMITTER_NAME: "Alice",
  GIT_COMMITTER_EMAIL: "alice@example.org",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
};

/** A bare repository with one commit on `main`, below a folder; returns where it lies. */
export function seedRepository(below: string, files: Readonly<Record<string, string>>): string {
  const bare = mkdtempSync(join(below, "bare-"));
  const tree = mkdtempSync(join(below, "tree-"));
  git(bare, "init", "--quiet", "--bare", "--initial-branch=main");
  git(tree, "init", "--quiet", "--initial-branch=main");
  commitTo(tree, files, "first");
  git(tree, "push", "--quiet", bare, "main");
  rmSync(tree, { recursive: true });
  return bare;
}

/** One more commit on a branch of a bare repository, as somebody else would push it. */
export function pushCommit(bare: string, branch: string, files: Readonly<Record<string, string>>): void {
  const tree = mkdtempSync(join(dirname(bare), "tree-"));
  git(tree, "clone", "--quiet", "--branch", branch, bare, ".");
  commitTo(tree, files, "somebody else's");
  git(tree, "push", "--quiet", "origin", branch);
  rmSync(tree, { recursive: true });
}

function commitTo(tree: string, files: Readonly<Record<string, string>>, message: string): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
  git(tree, "add", "--all");
  git(tree, "commit", "--quiet", "--message", message);
}

export function git(cwd: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", args, {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", ...WHO },
  });
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}
