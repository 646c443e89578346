import type { DiffFile, DiffPaths, Hunk } from "../edit.ts";
import { toBytesText } from "../match/bytes.ts";
import type { ParseFailure } from "../parse-error.ts";
import { readBinary } from "./unified-diff-binary.ts";
import { readGitHeader, readPlainHeader } from "./unified-diff-header.ts";
import { isHunkHeader, isNumberedHeader, isPlainHeader, readHunk } from "./unified-diff-hunk.ts";

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
  | { readonly ok: false; readonly line: number; readonly message: string };

export function parseUnifiedDiff(input: string | Uint8Array): UnifiedDiffParse {
  const lines = toBytesText(input).split("\n");
  if (lines.at(-1) === "") lines.pop();
  const files: DiffFile[] = [];
  const warnings: string[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    const git = line.startsWith("diff --git ");
    if (!git && !isPlainHeader(lines, at)) {
      if (isNumberedHeader(line)) return failure(at + 1, "patch fragment without header");
      at++;
      continue;
    }
    const read = readFile(lines, at, git, warnings);
    if (!read.ok) return failure(read.line, read.message);
    if (read.file !== null) files.push(read.file);
    at = read.next;
  }
  if (files.length === 0) return failure(1, "no valid patches in input", "not-a-patch");
  return { ok: true, files, warnings };
}

/** Linear: a `diff --git` line, or `---` / `+++` with a hunk after them. */
export function looksLikeUnifiedDiff(text: string): boolean {
  return /^diff --git \S/m.test(text) || /^--- .+\r?\n\+\+\+ .+\r?\n@@/m.test(text);
}

function readFile(lines: readonly string[], at: number, git: boolean, warnings: string[]): FileRead {
  const header = git ? readGitHeader(lines, at) : readPlainHeader(lines, at);
  if (!header.ok) return header;
  let next = header.next;
  if (lines[next]?.startsWith("GIT binary patch")) {
    const binary = readBinary(lines, next + 1);
    if (!binary.ok) return binary;
    const { forward, reverse } = binary;
    const file: DiffFile = { ...header.paths, change: "binary", forward, ...(reverse ? { reverse } : {}) };
    return { ok: true, file, next: binary.next };
  }
  if (/^(Binary files|Files) .* differ\r?$/.test(lines[next] ?? "")) {
    return { ok: true, file: { ...header.paths, change: "binary" }, next: next + 1 };
  }
  const hunks: Hunk[] = [];
  while (next < lines.length) {
    if (!isHunkHeader(lines[next]!)) {
      const more = skipBlank(lines, next);
      if (hunks.length === 0 || more === next || !isHunkHeader(lines[more] ?? "")) break;
      next = more;
    }
    const read = readHunk(lines, next);
    if (!read.ok) return read;
    if (read.recounted) warnings.push(`line ${next + 1}: the counts of the hunk header are wrong or missing`);
    hunks.push(read.hunk);
    next = read.next;
  }
  return finish(header.paths, header.guessed, hunks, next, at);
}

function finish(
  paths: DiffPaths,
  guessed: boolean,
  hunks: readonly Hunk[],
  next: number,
  at: number,
): FileRead {
  if (hunks.length === 0 && !changesMetadata(paths)) {
    return { ok: false, line: at + 1, message: "patch with only garbage" };
  }
  const hasOld = hunks.some((hunk) => hunk.lines.some((line) => line.tag !== "+"));
  const hasNew = hunks.some((hunk) => hunk.lines.some((line) => line.tag !== "-"));
  if (paths.operation === "create" && hasOld) {
    return { ok: false, line: at + 1, message: `new file ${paths.newPath} depends on old contents` };
  }
  if (paths.operation === "delete" && hasNew) {
    return { ok: false, line: at + 1, message: `deleted file ${paths.oldPath} still has contents` };
  }
  const mayCreate = guessed && !hasOld && hunks.length === 1;
  return { ok: true, next, file: { ...paths, ...(mayCreate ? { mayCreate } : {}), change: "text", hunks } };
}

function changesMetadata(paths: DiffPaths): boolean {
  if (paths.operation !== "modify") return true;
  return paths.oldMode !== undefined && paths.newMode !== undefined && paths.oldMode !== paths.newMode;
}

/** Models put empty lines between hunks. */
function skipBlank(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && (lines[at] === "" || lines[at] === "\r")) at++;
  return at;
}

function failure(
  line: number,
  message: string,
  code: ParseFailure["code"] = "invalid-diff",
): UnifiedDiffParse {
  return { ok: false, failure: { code, message: `${message} at line ${line}`, line } };
}
