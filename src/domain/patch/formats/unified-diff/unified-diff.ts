import { createLineCounter } from "../../../platform/bytes-text.ts";
import type {
  BinaryPatch,
  DiffFile,
  DiffPaths,
  Hunk,
  ParseFailure,
  PatchCommand,
} from "../../patch-command.ts";
import { type EmbeddedFormat, type EmbeddedRead, shiftLines, type TextLine } from "../embedded-format.ts";
import {
  cleanPath,
  gitHeaderNames,
  headerFileName,
  isDevNull,
  isEpoch,
  stripCount,
  stripCr,
  stripPrefix,
  unquote,
} from "./diff-file-names.ts";
import { DiffText, isHunkHeader, isNumberedHeader, isPlainHeader, readHunk } from "./diff-hunk.ts";

/** Reads the lines before the hunks of one file: git's extended header, or a plain `---` / `+++` pair. */
type HeaderRead =
  | { readonly ok: true; readonly paths: DiffPaths; readonly next: number; readonly guessed: boolean }
  | { readonly ok: false; readonly at: number; readonly message: string };

interface GitHeader {
  oldLine?: string;
  newLine?: string;
  moveFrom?: string;
  moveTo?: string;
  created: boolean;
  deleted: boolean;
  renamed: boolean;
  copied: boolean;
  readonly facts: { oldMode?: number; newMode?: number; oldBlob?: string; newBlob?: string };
}

/** `at` is the `diff --git` line. */
function readGitHeader(diff: DiffText, at: number): HeaderRead {
  const { text } = diff;
  const header: GitHeader = { created: false, deleted: false, renamed: false, copied: false, facts: {} };
  let next = diff.after(at);
  const fail = (message: string): HeaderRead => ({ ok: false, at: Math.min(next, text.length - 1), message });
  for (; next < text.length && !isHunkHeader(diff, next); next = diff.after(next)) {
    const taken = takeLine(header, stripCr(diff.line(next)));
    if (taken === "end") break;
    if (taken !== "taken") return fail(`invalid mode: ${taken.mode}`);
    const { created, deleted, renamed, copied } = header;
    if (Number(created) + Number(deleted) + Number(renamed) + Number(copied) > 1)
      return fail("inconsistent header lines");
  }
  const paths = gitPaths(header, diff.line(at).slice("diff --git ".length));
  return typeof paths === "string" ? fail(paths) : { ok: true, paths, next, guessed: false };
}

type HeaderLineRead = "taken" | "end" | { readonly mode: string };

function takeLine(header: GitHeader, line: string): HeaderLineRead {
  if (line.startsWith("--- ")) header.oldLine = line.slice(4);
  else if (line.startsWith("+++ ")) header.newLine = line.slice(4);
  else if (line.startsWith("index ")) return takeIndex(header, line.slice(6));
  else {
    const mode = /^(old mode|new mode|deleted file mode|new file mode) (.*)$/.exec(line);
    if (mode) return takeMode(header, mode[1]!, mode[2]!);
    const move = /^(rename|copy) (from|old|to|new) (.*)$/.exec(line);
    if (move) return takeMove(header, move[1]!, move[2]!, move[3]!);
    if (!/^(dis)?similarity index /.test(line)) return "end";
  }
  return "taken";
}

function takeMove(header: GitHeader, verb: string, side: string, written: string): HeaderLineRead {
  if (verb === "copy") header.copied = true;
  else header.renamed = true;
  const name = unquote(written)?.value ?? written;
  if (side === "from" || side === "old") header.moveFrom = name;
  else header.moveTo = name;
  return "taken";
}

function takeMode(header: GitHeader, key: string, text: string): HeaderLineRead {
  const found = /^([0-7]+)(\s|$)/.exec(text);
  if (!found) return { mode: text };
  const mode = Number.parseInt(found[1]!, 8);
  if (key === "deleted file mode") header.deleted = true;
  if (key === "new file mode") header.created = true;
  if (key.startsWith("new")) header.facts.newMode = mode;
  else header.facts.oldMode = mode;
  return "taken";
}

function takeIndex(header: GitHeader, rest: string): HeaderLineRead {
  const found = /^([0-9a-fA-F]+)\.\.([0-9a-fA-F]+)(?: (.*))?$/.exec(rest);
  if (!found) return "taken";
  header.facts.oldBlob = found[1]!.toLowerCase();
  header.facts.newBlob = found[2]!.toLowerCase();
  return found[3] === undefined ? "taken" : takeMode(header, "old mode", found[3]);
}

const NO_NAME = "git diff header lacks filename information";

/** Names that every tool writes without quotes. */
const PLAIN_NAME = /^(?:[\w.@+-]+\/)*[\w.@+-]+$/;

/** The path of a change as git writes nearly all of them: the same plain name four times, after `a/` and `b/`. */
function plainPath(header: GitHeader, names: string): string | null {
  const { oldLine, newLine, created, deleted, renamed, copied } = header;
  if (created || deleted || renamed || copied || oldLine === undefined || newLine === undefined) return null;
  if (!oldLine.startsWith("a/") || !newLine.startsWith("b/") || names !== `${oldLine} ${newLine}`)
    return null;
  const path = oldLine.slice(2);
  return newLine.endsWith(path) && newLine.length === oldLine.length && PLAIN_NAME.test(path) ? path : null;
}

/** The paths that a header names, or the error in it. */
function gitPaths(header: GitHeader, names: string): DiffPaths | string {
  const plain = plainPath(header, names);
  if (plain !== null) return { ...header.facts, oldPath: plain, newPath: plain, operation: "modify" };
  const fromTitle = gitHeaderNames(names);
  const oldNull = header.oldLine !== undefined && isDevNull(header.oldLine);
  const newNull = header.newLine !== undefined && isDevNull(header.newLine);
  const oldName = header.oldLine === undefined || oldNull ? null : headerFileName(header.oldLine);
  const newName = header.newLine === undefined || newNull ? null : headerFileName(header.newLine);
  const noName =
    header.oldLine === undefined && header.newLine === undefined && header.moveFrom === undefined;
  if (noName && fromTitle === null) return NO_NAME;
  const count =
    fromTitle && !isDevNull(fromTitle.oldName) && !isDevNull(fromTitle.newName)
      ? stripCount(fromTitle.oldName, fromTitle.newName)
      : stripCount(oldName, newName);
  const take = (name: string | null) => (name === null ? null : cleanPath(stripPrefix(name, count)));
  const title = titlePath(fromTitle, count);
  if (header.renamed || header.copied) {
    const oldPath = cleanPath(header.moveFrom ?? "");
    const newPath = cleanPath(header.moveTo ?? "");
    if (oldPath === "" || newPath === "") return NO_NAME;
    if ((oldName !== null && take(oldName) !== oldPath) || (newName !== null && take(newName) !== newPath)) {
      return "inconsistent filenames in a git diff header";
    }
    return { ...header.facts, oldPath, newPath, operation: header.renamed ? "rename" : "copy" };
  }
  if (header.created || (oldNull && !header.deleted)) {
    const newPath = take(newName) ?? title;
    if (newPath === null || newNull) return NO_NAME;
    if (header.created && title !== null && newPath !== title) return "inconsistent new filename";
    if (oldName !== null && take(oldName) !== newPath) return "expected /dev/null as old filename";
    return { ...header.facts, oldPath: null, newPath, operation: "create" };
  }
  if (header.deleted || newNull) {
    const oldPath = take(oldName) ?? title;
    if (oldPath === null || oldNull) return NO_NAME;
    if (header.deleted && title !== null && oldPath !== title) return "inconsistent old filename";
    if (newName !== null && take(newName) !== oldPath) return "expected /dev/null as new filename";
    return { ...header.facts, oldPath, newPath: null, operation: "delete" };
  }
  if ((header.oldLine === undefined) !== (header.newLine === undefined)) {
    return NO_NAME;
  }
  const oldPath = take(oldName) ?? title;
  const newPath = take(newName) ?? title;
  if (oldPath === null || newPath === null) return NO_NAME;
  if (oldPath !== newPath) return `names differ but nothing says rename: ${oldPath}, ${newPath}`;
  return {
    ...header.facts,
    ...alternate(oldName ?? fromTitle?.oldName ?? null, count),
    oldPath,
    newPath,
    operation: "modify",
  };
}

/** The one name of a `diff --git` line that repeats it; null when its two names differ. */
function titlePath(names: ReturnType<typeof gitHeaderNames>, count: 0 | 1): string | null {
  if (names === null) return null;
  const oldName = stripPrefix(names.oldName, count);
  const newName = stripPrefix(names.newName, count);
  return oldName === newName || cleanPath(oldName) === cleanPath(newName) ? cleanPath(oldName) : null;
}

/** `at` is the `--- ` line, `+++ ` follows. */
function readPlainHeader(diff: DiffText, at: number): HeaderRead {
  const second = diff.after(at);
  const oldLine = diff.line(at).slice(4);
  const newLine = diff.line(second).slice(4);
  const oldNull = isDevNull(oldLine);
  const newNull = isDevNull(newLine);
  const oldName = oldNull ? null : headerFileName(oldLine);
  const newName = newNull ? null : headerFileName(newLine);
  const count = stripCount(oldName, newName);
  const oldPath = oldName === null ? null : cleanPath(stripPrefix(oldName, count));
  const newPath = newName === null ? null : cleanPath(stripPrefix(newName, count));
  const path = shorterPath(oldPath, newPath);
  if (path === null || path === "") return { ok: false, at, message: "unable to find a filename" };
  const next = diff.after(second);
  if (oldNull || (!newNull && isEpoch(oldLine))) {
    return { ok: true, next, guessed: false, paths: { oldPath: null, newPath: path, operation: "create" } };
  }
  if (newNull || isEpoch(newLine)) {
    return { ok: true, next, guessed: false, paths: { oldPath: path, newPath: null, operation: "delete" } };
  }
  const other = alternate(path === oldPath ? oldName : newName, count);
  return {
    ok: true,
    next,
    guessed: true,
    paths: { oldPath: path, newPath: path, operation: "modify", ...other },
  };
}

/** Of `file.orig` and `file` the shorter is meant; otherwise the new name. */
function shorterPath(oldPath: string | null, newPath: string | null): string | null {
  if (oldPath === null || newPath === null) return newPath ?? oldPath;
  return oldPath !== "" && newPath.startsWith(oldPath) ? oldPath : newPath;
}

function alternate(name: string | null, count: 0 | 1): { alternatePath?: string } {
  if (name === null || !name.includes("/") || (count === 1 && /^[ab]\//.test(name))) return {};
  const path = cleanPath(stripPrefix(name, count === 1 ? 0 : 1));
  return path === "" ? {} : { alternatePath: path };
}

/** Reads the base85 data after `GIT binary patch`: a forward hunk and, for undoing, often a reverse one. */
type BinaryRead =
  | {
      readonly ok: true;
      readonly forward: BinaryPatch;
      readonly reverse?: BinaryPatch;
      readonly next: number;
    }
  | { readonly ok: false; readonly at: number; readonly message: string };

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

function readBinary(diff: DiffText, at: number): BinaryRead {
  const digits = new Int16Array(128).fill(-1);
  for (let i = 0; i < ALPHABET.length; i++) digits[ALPHABET.charCodeAt(i)] = i;
  const forward = readBinaryHunk(diff, at, digits);
  if (forward === null) return { ok: false, at, message: "unrecognized binary patch" };
  if ("message" in forward) return { ok: false, ...forward };
  const reverse = readBinaryHunk(diff, forward.next, digits);
  if (reverse === null) return { ok: true, forward: forward.patch, next: forward.next };
  if ("message" in reverse) return { ok: false, ...reverse };
  return { ok: true, forward: forward.patch, reverse: reverse.patch, next: reverse.next };
}

type HunkOfBinary = { patch: BinaryPatch; next: number } | { at: number; message: string } | null;

function readBinaryHunk(diff: DiffText, from: number, digits: Int16Array): HunkOfBinary {
  const line = stripCr(diff.line(from));
  const header = /^(literal|delta) (\d+)$/.exec(line);
  if (!header) return isCutHeader(diff, from, line) ? { at: from, message: "corrupt binary patch" } : null;
  const start = diff.after(from);
  const end = endOfData(diff, start);
  // Five letters for four bytes; the last four of a line may be cut.
  const data = new Uint8Array(end - start + 4);
  let size = 0;
  for (let at = start; at < end; at = diff.after(at)) {
    const length = decodeLine(stripCr(diff.line(at)), data, size, digits);
    if (length < 0) return { at, message: "corrupt binary patch" };
    size += length;
  }
  const method = header[1] === "delta" ? "delta" : "literal";
  return {
    patch: { method, size: Number(header[2]), data: data.slice(0, size) },
    next: end < diff.text.length ? diff.after(end) : end,
  };
}

/** A broken `literal 12` line: the word with something else after it, or the beginning of it at the end of the text. */
function isCutHeader(diff: DiffText, from: number, line: string): boolean {
  if (/^(literal|delta)( |$)/.test(line)) return true;
  const begins = line !== "" && ("literal ".startsWith(line) || "delta ".startsWith(line));
  return begins && diff.text.slice(diff.after(from)).trim() === "";
}

function endOfData(diff: DiffText, from: number): number {
  let at = from;
  while (at < diff.text.length && stripCr(diff.line(at)) !== "") at = diff.after(at);
  return at;
}

/** A length letter, then five digits for every four bytes. Returns how many bytes it put at `from`, -1 for another form. */
function decodeLine(line: string, out: Uint8Array, from: number, digits: Int16Array): number {
  const letter = line.charCodeAt(0);
  const length =
    letter >= 65 && letter <= 90 ? letter - 64 : letter >= 97 && letter <= 122 ? letter - 96 + 26 : 0;
  if (length === 0 || line.length !== 1 + 5 * Math.ceil(length / 4)) return -1;
  for (let at = 1, to = from; at < line.length; at += 5, to += 4) {
    let value = 0;
    for (let k = 0; k < 5; k++) {
      const digit = digits[line.charCodeAt(at + k)] ?? -1;
      if (digit < 0) return -1;
      value = value * 85 + digit;
    }
    if (value > 0xffffffff) return -1;
    out[to] = value >>> 24;
    out[to + 1] = (value >>> 16) & 255;
    out[to + 2] = (value >>> 8) & 255;
    out[to + 3] = value & 255;
  }
  return length;
}

/**
 * Unified diffs as git, GNU diff and models write them. Steps: find the next file header (anything else is
 * prose), read its names and modes, then its hunks or binary data. Input that git accepts has the same
 * meaning here. More is accepted than git does: wrong or missing hunk counts, names without `a/` and `b/`, a
 * last line without line end, `--- /dev/null` without `new file mode`.
 */
export type UnifiedDiffParse =
  | {
      readonly ok: true;
      readonly files: readonly DiffFile[];
      readonly warnings: readonly string[];
      /** Lines that belong to no file. */
      readonly around: () => readonly TextLine[];
    }
  | { readonly ok: false; readonly failure: ParseFailure };

type FileRead =
  | { readonly ok: true; readonly file: DiffFile | null; readonly next: number }
  | { readonly ok: false; readonly at: number; readonly message: string };

export function parseUnifiedDiff(input: string | Uint8Array): UnifiedDiffParse {
  const diff = new DiffText(input);
  const files: DiffFile[] = [];
  const warnings: string[] = [];
  const lineOf = createLineCounter(diff.text);
  const prose: number[] = [];
  const warn = (at: number, warning: string) => warnings.push(`line ${lineOf(at)}: ${warning}`);
  for (let at = 0; at < diff.text.length; ) {
    const git = diff.startsWith("diff --git ", at);
    if (!git && !isPlainHeader(diff, at)) {
      if (isNumberedHeader(diff, at)) return diffFailure(diff, at, "patch fragment without header");
      prose.push(at);
      at = diff.after(at);
      continue;
    }
    const read = readFile(diff, at, git, warn);
    if (!read.ok) return diffFailure(diff, read.at, read.message);
    if (read.file !== null) files.push(read.file);
    at = read.next;
  }
  if (files.length === 0) return diffFailure(diff, 0, "no valid patches in input", "not-a-patch");
  const around = () => {
    const lineOf = createLineCounter(diff.text);
    return prose.map((at) => ({ line: lineOf(at), text: diff.line(at) }));
  };
  return { ok: true, files, warnings, around };
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
      const more = skipContext(diff, next);
      if (hunks.length === 0 || more === next || !isHunkHeader(diff, more)) break;
      if (diff.startsWith(" ", next)) warn(next, COUNTS_WRONG);
      next = more;
    }
    const read = readHunk(diff, next);
    if (!read.ok) return read;
    if (read.recounted) warn(next, COUNTS_WRONG);
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

const COUNTS_WRONG = "the counts of the hunk header are wrong or missing";

/** Models put empty lines between hunks, and count too few lines: context beyond the counts adds no information. */
function skipContext(diff: DiffText, from: number): number {
  let at = from;
  while ([" ", "\n", "\r\n"].some((start) => diff.startsWith(start, at))) at = diff.after(at);
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

export const diffFormat: EmbeddedFormat = {
  name: "diff",
  initials: "d-",
  isMark: (text, at, end) =>
    text.startsWith("diff --git ", at) || (text.startsWith("--- ", at) && headsHunk(text, end + 1)),
  isLeadIn: (text, at) => text.startsWith("Index: ", at),
  measure: () => () => undefined,
  runsToEnd: false,
  readsProse: false,
  inAnyFence: false,
  read(text, { lead, firstIndex }) {
    if (lead === undefined || !("path" in lead)) return readDiff(text);
    return shiftLines(readDiff(`--- a/${lead.path}\n+++ b/${lead.path}\n${text}`), -2, firstIndex);
  },
};

function headsHunk(text: string, from: number): boolean {
  if (!text.startsWith("+++ ", from)) return false;
  const newline = text.indexOf("\n", from);
  return newline !== -1 && text.startsWith("@@", newline + 1);
}

/** One diff document is one command: it applies as a whole or not at all. */
function readDiff(text: string): EmbeddedRead {
  const diff = parseUnifiedDiff(text);
  if (!diff.ok) {
    const { failure } = diff;
    return {
      ok: false,
      failure: failure.code === "not-a-patch" ? { ...failure, code: "invalid-diff" } : failure,
    };
  }
  const { files, warnings, around } = diff;
  const paths = new Set(files.map((file) => file.newPath ?? file.oldPath ?? ""));
  const command: PatchCommand = {
    type: "file_edit",
    action: "update",
    target: [...paths].join(", "),
    content: text,
    metadata: { format: "diff" },
    edit: { kind: "diff", files },
  };
  return { ok: true, commands: [command], warnings, around };
}
