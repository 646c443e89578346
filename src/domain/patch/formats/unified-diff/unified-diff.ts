import type { DiffFile, DiffPaths, Hunk } from "../../patch-command.ts";
import type { ParseFailure } from "../../parse-error.ts";
import { createLineCounter } from "../../line-offsets.ts";
import { readBinary } from "./binary.ts";
import { readGitHeader, readPlainHeader } from "./header.ts";
import { isHunkHeader, isNumberedHeader, isPlainHeader, readHunk } from "./diff-hunk.ts";
import { DiffText } from "./text.ts";

/**
 * Unified diffs as git, GNU diff and models write them. Steps: find the next file header (anything else is prose),
 * read its names and modes, then its hunks or binary data. What git accepts means here what it means to git.
 * More is accepted than git does: wrong or missing hunk counts, names without `a/` and `b/`, a last line without
 * line end, `--- /dev/null` without `new file mode`.
 */
export type UnifiedDiffParse =
  | { readonly ok: true; readonly files: readonly DiffFile[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

type FileRead =
  | { readonly ok: true; readonly file: DiffFile | null; readonly next: number }
  | { readonly ok: false; readonly at: number; readonly message: string };

export function parseUnifiedDiff(input: string | Uint8Array): UnifiedDiffParse {
  const diff = new DiffText(input);
  const files: DiffFile[] = [];
  const warnings: string[] = [];
  const lineOf = createLineCounter(diff.text);
  const warn = (at: number, warning: string) => warnings.push(`line ${lineOf(at)}: ${warning}`);
  for (let at = 0; at < diff.text.length; ) {
    const git = diff.startsWith("diff --git ", at);
    if (!git && !isPlainHeader(diff, at)) {
      if (isNumberedHeader(diff, at)) return diffFailure(diff, at, "patch fragment without header");
      at = diff.after(at);
      continue;
    }
    const read = readFile(diff, at, git, warn);
    if (!read.ok) return diffFailure(diff, read.at, read.message);
    if (read.file !== null) files.push(read.file);
    at = read.next;
  }
  if (files.length === 0) return diffFailure(diff, 0, "no valid patches in input", "not-a-patch");
  return { ok: true, files, warnings };
}

function readFile(
  diff: DiffText,
  at: number,
  git: boolean,
  warn: (at: number, warning: string) => void,
): FileRead {
  const header = git ? readGitHeader(diff, at) : readPlainHeader(diff, at);
  if (!header.ok) return header;
  let next = header.next;
  if (diff.startsWith("GIT binary patch", next)) {
    const binary = readBinary(diff, diff.after(next));
    if (!binary.ok) return binary;
    const { forward, reverse } = binary;
    const file: DiffFile = { ...header.paths, change: "binary", forward, ...(reverse ? { reverse } : {}) };
    return { ok: true, file, next: binary.next };
  }
  if (saysBinary(diff, next))
    return { ok: true, file: { ...header.paths, change: "binary" }, next: diff.after(next) };
  const hunks: Hunk[] = [];
  let hasOld = false;
  let hasNew = false;
  while (next < diff.text.length) {
    if (!isHunkHeader(diff, next)) {
      const more = skipBlank(diff, next);
      if (hunks.length === 0 || more === next || !isHunkHeader(diff, more)) break;
      next = more;
    }
    const read = readHunk(diff, next);
    if (!read.ok) return read;
    if (read.recounted) warn(next, "the counts of the hunk header are wrong or missing");
    hunks.push(read.hunk);
    hasOld ||= read.hasOld;
    hasNew ||= read.hasNew;
    next = read.next;
  }
  const { paths } = header;
  const refuse = (message: string): FileRead => ({ ok: false, at, message });
  if (hunks.length === 0 && !changesMetadata(paths)) return refuse("patch with only garbage");
  if (paths.operation === "create" && hasOld)
    return refuse(`new file ${paths.newPath} depends on old contents`);
  if (paths.operation === "delete" && hasNew)
    return refuse(`deleted file ${paths.oldPath} still has contents`);
  const mayCreate = header.guessed && !hasOld && hunks.length === 1;
  return { ok: true, next, file: { ...paths, ...(mayCreate ? { mayCreate } : {}), change: "text", hunks } };
}

/** git's note that a binary file changed, without the change. */
function saysBinary(diff: DiffText, at: number): boolean {
  if (!diff.startsWith("Binary files ", at) && !diff.startsWith("Files ", at)) return false;
  return /^(Binary files|Files) .* differ\r?$/.test(diff.line(at));
}

function changesMetadata(paths: DiffPaths): boolean {
  if (paths.operation !== "modify") return true;
  return paths.oldMode !== undefined && paths.newMode !== undefined && paths.oldMode !== paths.newMode;
}

/** Models put empty lines between hunks. */
function skipBlank(diff: DiffText, from: number): number {
  let at = from;
  while (diff.startsWith("\n", at) || diff.startsWith("\r\n", at)) at = diff.after(at);
  return at;
}

function diffFailure(
  diff: DiffText,
  at: number,
  message: string,
  code: ParseFailure["code"] = "invalid-diff",
): UnifiedDiffParse {
  const line = createLineCounter(diff.text)(at);
  return { ok: false, failure: { code, message: `${message} at line ${line}`, line } };
}
