import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const WHO = {
  GIT_AUTHOR_NAME: "Alice",
  GIT_AUTHOR_EMAIL: "alice@example.org",
  GIT_COMMITTER_NAME: "Alice",
  GIT_COMMITTER_EMAIL: "alice@example.org",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  // Nothing is ever packed here; without this every commit starts a process that finds so.
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "maintenance.auto",
  GIT_CONFIG_VALUE_0: "false",
};

/** The files of a bare repository that git made; null is a folder. */
type MadeRepository = ReadonlyMap<string, Buffer | null>;

/** By the files of their one commit: a dozen processes of git make one, and most tests begin with the same. */
const MADE = new Map<string, MadeRepository>();

/** A bare repository with one commit on `main`, below a folder; returns where it lies. */
export function seedRepository(below: string, files: Readonly<Record<string, string>>): string {
  const bare = mkdtempSync(join(below, "bare-"));
  const known = JSON.stringify(files);
  const made = MADE.get(known) ?? makeRepository(below, files);
  MADE.set(known, made);
  for (const [path, bytes] of made) {
    if (bytes === null) mkdirSync(join(bare, path), { recursive: true });
    else writeFileSync(join(bare, path), bytes);
  }
  return bare;
}

function makeRepository(below: string, files: Readonly<Record<string, string>>): MadeRepository {
  const bare = mkdtempSync(join(below, "made-"));
  const tree = mkdtempSync(join(below, "tree-"));
  git(bare, "init", "--quiet", "--bare", "--template=", "--initial-branch=main");
  git(tree, "init", "--quiet", "--template=", "--initial-branch=main");
  mkdirSync(join(bare, "hooks"));
  commitTo(tree, files, "first");
  git(tree, "push", "--quiet", bare, "main");
  const made = readdirSync(bare, { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
    .map(({ entry, path }) => [relative(bare, path), entry.isFile() ? readFileSync(path) : null] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  for (const folder of [tree, bare]) rmSync(folder, { recursive: true });
  return new Map(made);
}

/** One more commit on a branch of a bare repository, as another user would push it. */
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
