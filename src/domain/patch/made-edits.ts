/**
 * The parts of an edit that this message's own attempts made already. A coder that was steered, or that repairs one file of several,
 * sends its whole patch again: what is there already must not fail. In comes an edit that failed as a whole, with the reports of its
 * hunks, and how its files were before; out comes the rest of the edit, or null if no part of it was made.
 * Invariant: a part counts as made only if its result is in the file now, and was there fewer times in an earlier state of this message.
 */
import { fromBytesText, toBytesText } from "../platform/bytes-text.ts";
import {
  type DiffFile,
  type EarlierStates,
  type Edit,
  type FileSource,
  type Hunk,
  type HunkLine,
  type HunkReport,
  isDeletedByOwn,
} from "./patch-command.ts";
import { isTelling, lineKey } from "./target-lines.ts";

export interface RestOfEdit {
  /** Null: all of it was made. */
  readonly rest: Edit | null;
  /** The paths of the parts that were made. */
  readonly made: readonly string[];
}

export function withoutMade(
  edit: Edit,
  reports: readonly HunkReport[],
  source: FileSource,
  earlier: EarlierStates,
): RestOfEdit | null {
  const made: string[] = [];
  const known = { source, earlier, reports, made };
  const rest = restOf(edit, known);
  return made.length === 0 ? null : { rest, made: [...new Set(made)] };
}

interface Known {
  readonly source: FileSource;
  readonly earlier: EarlierStates;
  readonly reports: readonly HunkReport[];
  readonly made: string[];
}

function restOf(edit: Edit, known: Known): Edit | null {
  switch (edit.kind) {
    case "search-replace":
      return hunksLeft(edit.path, [edit.hunk], known).length === 0 ? null : edit;
    case "v4a": {
      const { path, moveTo, hunks } = edit;
      if (moveTo !== undefined && isRenamed(path, moveTo, known)) {
        known.made.push(moveTo);
        return hunks.length === 0 ? null : { kind: "v4a", path: moveTo, hunks };
      }
      const left = hunksLeft(path, hunks, known);
      return left.length === 0 && moveTo === undefined ? null : { ...edit, hunks: left };
    }
    case "diff": {
      const paths = edit.files.flatMap(({ oldPath, newPath }) => [...new Set([oldPath, newPath])]);
      const named = paths.filter((path) => path !== null);
      // Parts of the same file see each other's results, so that a report does not say which of them it is about.
      if (new Set(named).size < named.length) return edit;
      const files = edit.files.flatMap((file) => fileLeft(file, known) ?? []);
      return files.length === 0 ? null : { kind: "diff", files };
    }
  }
}

function fileLeft(file: DiffFile, known: Known): DiffFile | null {
  const { source, earlier, made } = known;
  const { oldPath, newPath } = file;
  if (newPath === null) {
    if (oldPath === null || source.look(oldPath).kind !== "missing" || !isDeletedByOwn(oldPath, earlier))
      return file;
    made.push(oldPath);
    return null;
  }
  if (file.change !== "text") return file;
  if (oldPath === null) {
    if (!isCreated(newPath, file.hunks, known)) return file;
    made.push(newPath);
    return null;
  }
  if (file.operation === "rename" && isRenamed(oldPath, newPath, known)) {
    made.push(newPath);
    const { hunks } = file;
    return hunks.length === 0
      ? null
      : { change: "text", oldPath: newPath, newPath, operation: "modify", hunks };
  }
  if (file.operation !== "modify") return file;
  const hunks = hunksLeft(oldPath, file.hunks, known);
  const hasMode = file.newMode !== undefined && file.newMode !== file.oldMode;
  return hunks.length === 0 && file.hunks.length > 0 && !hasMode ? null : { ...file, hunks };
}

function isRenamed(from: string, to: string, { source, earlier }: Known): boolean {
  return (
    source.look(from).kind === "missing" &&
    isDeletedByOwn(from, earlier) &&
    source.look(to).kind === "file" &&
    earlier(to).length > 0
  );
}

/** A file that the edit creates has exactly that content now. */
function isCreated(path: string, hunks: readonly Hunk[], { source, earlier }: Known): boolean {
  const found = source.look(path);
  const lines = hunks.flatMap((hunk) => hunk.lines);
  if (found.kind !== "file" || lines.some(({ tag }) => tag !== "+") || earlier(path).length === 0)
    return false;
  return Buffer.compare(found.bytes, fromBytesText(lines.map(({ text, eol }) => text + eol).join(""))) === 0;
}

function hunksLeft(path: string, hunks: readonly Hunk[], known: Known): Hunk[] {
  const found = known.source.look(path);
  const states = known.earlier(path);
  if (found.kind !== "file" || states.length === 0) return [...hunks];
  const now = readKeys(found.bytes);
  const before = states.map((state) => readKeys(state ?? new Uint8Array()));
  return hunks.filter((hunk, at) => {
    const status = known.reports.find((report) => report.path === path && report.hunk === at + 1)?.status;
    const mayBeMade = status === "already-applied" || status === "not-found";
    const isMade =
      (mayBeMade && before.some((keys) => isMadeSince(keys, now, hunk.lines))) ||
      (status === "refused" && isCreated(path, [hunk], known));
    if (isMade) known.made.push(path);
    return !isMade;
  });
}

/** The lines of a file without their indentation, between two marks, so that its first and last line have neighbours as well. */
function readKeys(bytes: Uint8Array): string[] {
  const lines = toBytesText(bytes).split(/\r\n|\r|\n/);
  if (lines.at(-1) === "") lines.pop();
  return ["\0", ...lines.map((line) => lineKey("indent", line)), "\0"];
}

function isMadeSince(before: readonly string[], now: readonly string[], lines: readonly HunkLine[]): boolean {
  const side = (other: HunkLine["tag"]) =>
    lines.flatMap(({ tag, text }) => (tag === other ? [] : [lineKey("indent", text)]));
  const [old, made] = [side("+"), side("-")];
  const at = findLines(before, old);
  // Between its neighbours of that time, also a result that is empty, or that is found anywhere, can be known again.
  const between = [before[at - 1] ?? "", ...made, before[at + old.length] ?? ""];
  if (at > 0 && countText(now, between, "\n") > countText(before, between, "\n")) return true;
  const adds = lines.some(({ tag }) => tag === "+");
  return (
    adds &&
    isTelling(lines.filter(({ tag }) => tag !== "-")) &&
    countText(now, made) > countText(before, made)
  );
}

function findLines(lines: readonly string[], wanted: readonly string[]): number {
  if (wanted.length === 0) return -1;
  for (let at = 0; at + wanted.length <= lines.length; at++)
    if (wanted.every((line, i) => lines[at + i] === line)) return at;
  return -1;
}

/** How often the lines are there. Without `edge`, they may begin and end within a line. */
function countText(lines: readonly string[], wanted: readonly string[], edge = ""): number {
  const text = `\n${lines.join("\n\n")}\n`;
  const sought = `${edge}${wanted.join("\n\n")}${edge}`;
  return sought === "" ? 0 : text.split(sought).length - 1;
}
