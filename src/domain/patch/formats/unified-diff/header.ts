import type { DiffPaths } from "../../patch-command.ts";
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
import type { DiffText } from "./text.ts";

/** Reads what stands before the hunks of one file: git's extended header, or a plain `---` / `+++` pair. */
export type HeaderRead =
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
export function readGitHeader(diff: DiffText, at: number): HeaderRead {
  const { text } = diff;
  const header: GitHeader = { created: false, deleted: false, renamed: false, copied: false, facts: {} };
  let next = diff.after(at);
  const fail = (message: string): HeaderRead => ({ ok: false, at: Math.min(next, text.length - 1), message });
  for (; next < text.length; next = diff.after(next)) {
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

/** Takes one line of an extended header. */
function takeLine(header: GitHeader, line: string): HeaderLineRead {
  if (line.startsWith("@@")) return "end";
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

/** The paths a header speaks of, or what is wrong with it. */
function gitPaths(header: GitHeader, names: string): DiffPaths | string {
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
export function readPlainHeader(diff: DiffText, at: number): HeaderRead {
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
