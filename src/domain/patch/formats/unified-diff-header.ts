import type { DiffPaths } from "../edit.ts";
import {
  cleanPath,
  gitHeaderNames,
  isDevNull,
  isEpoch,
  nameOf,
  strip,
  stripCount,
  unquote,
} from "./unified-diff-names.ts";

/** Reads what stands before the hunks of one file: git's extended header, or a plain `---` / `+++` pair. */
export type HeaderRead =
  | { readonly ok: true; readonly paths: DiffPaths; readonly next: number; readonly guessed: boolean }
  | { readonly ok: false; readonly line: number; readonly message: string };

interface GitHeader {
  oldLine?: string;
  newLine?: string;
  moveFrom?: string;
  moveTo?: string;
  created: boolean;
  deleted: boolean;
  renamed: boolean;
  copied: boolean;
  oldMode?: number;
  newMode?: number;
  oldBlob?: string;
  newBlob?: string;
}

class HeaderError extends Error {}

/** `at` is the `diff --git` line. */
export function readGitHeader(lines: readonly string[], at: number): HeaderRead {
  const header: GitHeader = { created: false, deleted: false, renamed: false, copied: false };
  let next = at + 1;
  try {
    while (next < lines.length && takeLine(header, trimCr(lines[next]!))) {
      if (
        Number(header.created) + Number(header.deleted) + Number(header.renamed) + Number(header.copied) >
        1
      ) {
        throw new HeaderError("inconsistent header lines");
      }
      next++;
    }
    return {
      ok: true,
      paths: gitPaths(header, lines[at]!.slice("diff --git ".length)),
      next,
      guessed: false,
    };
  } catch (error) {
    if (error instanceof HeaderError)
      return { ok: false, line: Math.min(next, lines.length - 1) + 1, message: error.message };
    throw error;
  }
}

/** Takes one line of an extended header; false where the header ends. */
function takeLine(header: GitHeader, line: string): boolean {
  const rest = (prefix: string) => line.slice(prefix.length);
  if (line.startsWith("--- ")) header.oldLine = rest("--- ");
  else if (line.startsWith("+++ ")) header.newLine = rest("+++ ");
  else if (line.startsWith("old mode ")) header.oldMode = mode(rest("old mode "));
  else if (line.startsWith("new mode ")) header.newMode = mode(rest("new mode "));
  else if (line.startsWith("deleted file mode ")) {
    header.deleted = true;
    header.oldMode = mode(rest("deleted file mode "));
  } else if (line.startsWith("new file mode ")) {
    header.created = true;
    header.newMode = mode(rest("new file mode "));
  } else if (/^(rename|copy) (from|old|to|new) /.test(line)) {
    const [verb, side] = line.split(" ", 2) as [string, string];
    const name = line.slice(verb.length + side.length + 2);
    if (verb === "copy") header.copied = true;
    else header.renamed = true;
    if (side === "from" || side === "old") header.moveFrom = unquote(name)?.value ?? name;
    else header.moveTo = unquote(name)?.value ?? name;
  } else if (line.startsWith("index ")) takeIndex(header, rest("index "));
  else return line.startsWith("similarity index ") || line.startsWith("dissimilarity index ");
  return true;
}

function takeIndex(header: GitHeader, rest: string): void {
  const found = /^([0-9a-fA-F]+)\.\.([0-9a-fA-F]+)(?: (.*))?$/.exec(rest);
  if (!found) return;
  header.oldBlob = found[1]!.toLowerCase();
  header.newBlob = found[2]!.toLowerCase();
  if (found[3] !== undefined) header.oldMode = mode(found[3]);
}

function mode(text: string): number {
  const found = /^([0-7]+)(\s|$)/.exec(text);
  if (!found) throw new HeaderError(`invalid mode: ${text}`);
  return Number.parseInt(found[1]!, 8);
}

function gitPaths(header: GitHeader, names: string): DiffPaths {
  const fromTitle = gitHeaderNames(names);
  const oldNull = header.oldLine !== undefined && isDevNull(header.oldLine);
  const newNull = header.newLine !== undefined && isDevNull(header.newLine);
  const oldName = header.oldLine === undefined || oldNull ? null : nameOf(header.oldLine);
  const newName = header.newLine === undefined || newNull ? null : nameOf(header.newLine);
  const noName =
    header.oldLine === undefined && header.newLine === undefined && header.moveFrom === undefined;
  if (noName && fromTitle === null) throw new HeaderError("git diff header lacks filename information");
  const count =
    fromTitle && !isDevNull(fromTitle.oldName) && !isDevNull(fromTitle.newName)
      ? stripCount(fromTitle.oldName, fromTitle.newName)
      : stripCount(oldName, newName);
  const take = (name: string | null) => (name === null ? null : cleanPath(strip(name, count)));
  const title = titlePath(fromTitle, count);
  const common = {
    ...(header.oldMode === undefined ? {} : { oldMode: header.oldMode }),
    ...(header.newMode === undefined ? {} : { newMode: header.newMode }),
    ...(header.oldBlob === undefined ? {} : { oldBlob: header.oldBlob }),
    ...(header.newBlob === undefined ? {} : { newBlob: header.newBlob }),
  };
  if (header.renamed || header.copied) {
    const oldPath = cleanPath(header.moveFrom ?? "");
    const newPath = cleanPath(header.moveTo ?? "");
    if (oldPath === "" || newPath === "") throw new HeaderError("git diff header lacks filename information");
    if ((oldName !== null && take(oldName) !== oldPath) || (newName !== null && take(newName) !== newPath)) {
      throw new HeaderError("inconsistent filenames in a git diff header");
    }
    return { ...common, oldPath, newPath, operation: header.renamed ? "rename" : "copy" };
  }
  if (header.created || (oldNull && !header.deleted)) {
    const newPath = take(newName) ?? title;
    if (newPath === null || newNull) throw new HeaderError("git diff header lacks filename information");
    if (header.created && title !== null && newPath !== title)
      throw new HeaderError("inconsistent new filename");
    if (oldName !== null && take(oldName) !== newPath)
      throw new HeaderError("expected /dev/null as old filename");
    return { ...common, oldPath: null, newPath, operation: "create" };
  }
  if (header.deleted || newNull) {
    const oldPath = take(oldName) ?? title;
    if (oldPath === null || oldNull) throw new HeaderError("git diff header lacks filename information");
    if (header.deleted && title !== null && oldPath !== title)
      throw new HeaderError("inconsistent old filename");
    if (newName !== null && take(newName) !== oldPath)
      throw new HeaderError("expected /dev/null as new filename");
    return { ...common, oldPath, newPath: null, operation: "delete" };
  }
  if ((header.oldLine === undefined) !== (header.newLine === undefined)) {
    throw new HeaderError("git diff header lacks filename information");
  }
  const oldPath = take(oldName) ?? title;
  const newPath = take(newName) ?? title;
  if (oldPath === null || newPath === null)
    throw new HeaderError("git diff header lacks filename information");
  if (oldPath !== newPath)
    throw new HeaderError(`names differ but nothing says rename: ${oldPath}, ${newPath}`);
  return {
    ...common,
    ...alternate(oldName ?? fromTitle?.oldName ?? null, count),
    oldPath,
    newPath,
    operation: "modify",
  };
}

/** The one name of a `diff --git` line that repeats it; null when its two names differ. */
function titlePath(names: ReturnType<typeof gitHeaderNames>, count: 0 | 1): string | null {
  if (names === null) return null;
  const oldPath = cleanPath(strip(names.oldName, count));
  return oldPath === cleanPath(strip(names.newName, count)) ? oldPath : null;
}

/** `at` is the `--- ` line, `+++ ` follows. */
export function readPlainHeader(lines: readonly string[], at: number): HeaderRead {
  const oldLine = lines[at]!.slice(4);
  const newLine = lines[at + 1]!.slice(4);
  const oldNull = isDevNull(oldLine);
  const newNull = isDevNull(newLine);
  const oldName = oldNull ? null : nameOf(oldLine);
  const newName = newNull ? null : nameOf(newLine);
  const count = stripCount(oldName, newName);
  const oldPath = oldName === null ? null : cleanPath(strip(oldName, count));
  const newPath = newName === null ? null : cleanPath(strip(newName, count));
  const path = shorter(oldPath, newPath);
  if (path === null || path === "") return { ok: false, line: at + 1, message: "unable to find a filename" };
  const next = at + 2;
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
function shorter(oldPath: string | null, newPath: string | null): string | null {
  if (oldPath === null || newPath === null) return newPath ?? oldPath;
  return oldPath !== "" && newPath.startsWith(oldPath) ? oldPath : newPath;
}

function alternate(name: string | null, count: 0 | 1): { alternatePath?: string } {
  if (name === null || !name.includes("/") || (count === 1 && /^[ab]\//.test(name))) return {};
  const path = cleanPath(strip(name, count === 1 ? 0 : 1));
  return path === "" ? {} : { alternatePath: path };
}

function trimCr(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
