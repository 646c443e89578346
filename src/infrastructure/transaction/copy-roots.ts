import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findGit, isInside } from "./git-roots.ts";

/** One root of the transaction and where its copy stands. */
export interface CopiedRoot {
  readonly original: string;
  readonly copy: string;
}

/** Copies each root with everything that belongs to it, sharing blocks where the file system can. */
export function copyRoots(
  roots: readonly string[],
  into: string,
  leaveOut: (absolute: string) => boolean,
): { copies: CopiedRoot[]; error: string | null } {
  const copies = roots.map((original, i) => ({
    original,
    copy: join(into, String(i), basename(original) || "root"),
  }));
  for (const { original, copy } of copies) {
    mkdirSync(copy, { recursive: true });
    const names = readdirSync(original).filter((name) => !leaveOut(join(original, name)));
    for (let i = 0; i < names.length; i += 500) {
      const error = copyNames(original, names.slice(i, i + 500), copy);
      if (error !== null) return { copies, error };
    }
    const stats = lstatSync(original);
    utimesSync(copy, stats.atime, stats.mtime);
  }
  return { copies, error: null };
}

function copyNames(from: string, names: readonly string[], to: string): string | null {
  if (names.length === 0) return null;
  const sources = names.map((name) => `./${name}`);
  const options = process.platform === "linux" ? ["-a", "-x", "--reflink=auto"] : ["-cpRP"];
  const ran = spawnSync("cp", [...options, "--", ...sources, `${to}/`], {
    cwd: from,
    encoding: "utf8",
    maxBuffer: 1 << 20,
  });
  if (ran.error) return ran.error.message;
  if (ran.status === 0) return null;
  const complaints = ran.stderr.split("\n").filter((line) => line !== "" && !/Permission denied/.test(line));
  return complaints.length === 0 ? null : (complaints[0] as string);
}

/**
 * A worktree's `.git` file and its counterpart name each other by absolute path (a submodule names its work tree).
 * In the copy they must name the copies. Returns the files that were rewritten, for `restorePointers`.
 */
export function repointGit(workspace: string, copies: readonly CopiedRoot[]): string[] {
  const git = findGit(workspace);
  if (git === null) return [];
  const top = copies[0] as CopiedRoot;
  const common = copies.find((root) => isInside(root.original, git.commonDirectory));
  if (common === undefined || isInside(top.original, git.commonDirectory)) return [];
  const inCopy = (path: string) => join(common.copy, path.slice(common.original.length));
  const rewritten = [join(top.copy, ".git")];
  replaceText(rewritten[0] as string, () => `gitdir: ${inCopy(git.gitDirectory)}\n`);
  const back = join(inCopy(git.gitDirectory), "gitdir");
  if (lstatSync(back, { throwIfNoEntry: false })) {
    replaceText(back, () => `${join(top.copy, ".git")}\n`);
    rewritten.push(back);
  }
  const config = join(inCopy(git.gitDirectory), "config");
  if (
    lstatSync(config, { throwIfNoEntry: false })?.isFile() &&
    /^\s*worktree\s*=/m.test(readFileSync(config, "utf8"))
  ) {
    replaceText(config, (text) =>
      text.replace(/^(\s*worktree\s*=\s*).*$/m, (_, key: string) => `${key}${top.copy}`),
    );
    rewritten.push(config);
  }
  return rewritten;
}

function replaceText(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

/** Files of a copy may have recorded where the copy stood; in the workspace they must say the real place. */
export function restorePaths(file: string, copies: readonly CopiedRoot[]): void {
  const text = readFileSync(file, "latin1");
  let restored = text;
  for (const { original, copy } of copies)
    restored = restored.replaceAll(
      Buffer.from(copy).toString("latin1"),
      Buffer.from(original).toString("latin1"),
    );
  if (restored !== text) writeFileSync(file, restored, "latin1");
}

export function copyEntry(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  const options = process.platform === "linux" ? ["-a", "-T", "--reflink=auto"] : ["-cpRP"];
  spawnSync("rm", ["-rf", "--", to]);
  spawnSync("cp", [...options, "--", from, to]);
}
