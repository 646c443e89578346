import { lstatSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { CopiedRoot } from "./copied-roots.ts";
import { findGit, isInside } from "./git-roots.ts";

/** A file of the copy in which a path was changed for the job's time: what it says there, and what it said before. */
export interface Pointer {
  readonly file: string;
  readonly inCopy: string;
  readonly asWritten: string;
}

/**
 * A worktree's `.git` file and its counterpart name each other by path, and a submodule's configuration names its
 * work tree. In the copy they must name the copies, or a job's git would work on the real repository.
 */
export function repointGit(workspace: string, copies: readonly CopiedRoot[]): Pointer[] {
  const git = findGit(workspace);
  if (git === null) return [];
  const top = copies[0] as CopiedRoot;
  const common = copies.find((root) => isInside(root.original, git.commonDirectory));
  if (common === undefined || isInside(top.original, git.commonDirectory)) return [];
  const gitCopy = join(common.copy, git.gitDirectory.slice(common.original.length));
  return [
    repoint(join(top.copy, ".git"), /^(gitdir: )(.*)$/m, gitCopy),
    repoint(join(gitCopy, "gitdir"), /^()(.*)$/m, join(top.copy, ".git")),
    repoint(join(gitCopy, "config"), /^(\s*worktree\s*=\s*)(.*)$/m, top.copy),
  ].filter((pointer) => pointer !== null);
}

function repoint(file: string, place: RegExp, inCopy: string): Pointer | null {
  if (!lstatSync(file, { throwIfNoEntry: false })?.isFile()) return null;
  const text = readFileSync(file, "utf8");
  const asWritten = place.exec(text)?.[2];
  if (asWritten === undefined) return null;
  writeFileSync(
    file,
    text.replace(place, (_, key: string) => `${key}${inCopy}`),
  );
  return { file, inCopy, asWritten };
}

/** Small texts in which git notes where repositories lie. */
const NOTES_PATHS = new Set([
  ".git",
  "gitdir",
  "config",
  "config.worktree",
  "commondir",
  "alternates",
  "FETCH_HEAD",
]);
const LARGEST_NOTE = 1 << 20;

export function notesPaths(path: string, size: number): boolean {
  return (
    NOTES_PATHS.has(basename(path)) &&
    size <= LARGEST_NOTE &&
    /(^|\/)\.git(\/|$)|^[^/]+$|worktrees|modules/.test(path)
  );
}

/** Makes a file of the copy say the real places again. */
export function restorePaths(
  file: string,
  pointers: readonly Pointer[],
  copies: readonly CopiedRoot[],
): void {
  const before = readFileSync(file, "latin1");
  let text = before;
  const say = (from: string, to: string) => {
    text = text.replaceAll(Buffer.from(from).toString("latin1"), Buffer.from(to).toString("latin1"));
  };
  for (const pointer of pointers) if (pointer.file === file) say(pointer.inCopy, pointer.asWritten);
  for (const { copy, original } of copies) say(copy, original);
  if (text !== before) writeFileSync(file, text, "latin1");
}
