import { diffArrays } from "diff";
import { decodeText, isSameFile } from "./file-bytes.ts";

/** Three texts of one file: the common one, and what each side made of it. Null: no file. Undefined: unknown, so that nothing is merged. */
export interface MergeSides {
  readonly base: Uint8Array | null | undefined;
  readonly ours: Uint8Array | null;
  readonly theirs: Uint8Array | null;
}

export type MergeResult =
  | { readonly kind: "clean"; readonly bytes: Uint8Array }
  /** One side left the file alone, or both made the same of it. */
  | { readonly kind: "ours" | "theirs" | "same" }
  | { readonly kind: "conflict"; readonly why: MergeConflict };

/** `touching`: both changed the same lines, or neighbouring ones. `gone`: one side removed or made the file. */
export type MergeConflict = "touching" | "gone" | "no-base" | "not-text" | "too-large" | "too-slow";

const MOST_BYTES = 1024 * 1024;
/** For one file: a reformatted file would otherwise hold up everything else in the process for minutes. */
const LIMIT_MS = 300;

/** Merges two edits of one text by lines, without conflict markers. Line ends that one side changed altogether are its editor's mistake. */
export function mergeFile({ base, ours, theirs }: MergeSides, limitMs = LIMIT_MS): MergeResult {
  if (isSameFile(ours, theirs)) return { kind: "same" };
  if (base === undefined) return { kind: "conflict", why: "no-base" };
  if (isSameFile(base, theirs)) return { kind: "ours" };
  if (isSameFile(base, ours)) return { kind: "theirs" };
  if (base === null || ours === null || theirs === null) return { kind: "conflict", why: "gone" };
  if ([base, ours, theirs].some(({ length }) => length > MOST_BYTES))
    return { kind: "conflict", why: "too-large" };
  const texts = [base, ours, theirs].map(decodeText);
  if (texts.some((text) => text === null)) return { kind: "conflict", why: "not-text" };
  const [before, mine, other] = texts as [string, string, string];
  const ends = lineEnd(before);
  const merged = mergeLines(
    splitLines(before),
    splitLines(withLineEnds(mine, ends)),
    splitLines(withLineEnds(other, ends)),
    limitMs,
  );
  if (typeof merged === "string") return { kind: "conflict", why: merged };
  return { kind: "clean", bytes: new TextEncoder().encode(merged.join("")) };
}

/**
 * Whether one side's changes are still in the output of a command, regardless of formatting: the words of each added line are
 * there in order, and no removed line has returned. Lines without words (a count, a brace) are ignored, because many commands
 * recompute them. An unknown base counts as empty.
 */
export function keepsOthersLines({ base, ours, theirs }: MergeSides): boolean {
  const texts = [base ?? new Uint8Array(), ours, theirs].map((bytes) =>
    bytes === null || bytes.length > MOST_BYTES ? null : decodeText(bytes),
  );
  if (texts.some((text) => text === null)) return false;
  const [before, mine, other] = texts as [string, string, string];
  const linesOf = (text: string) =>
    new Set(
      text
        .split("\n")
        .map(wordsOf)
        .filter((line) => /\p{L}/u.test(line)),
    );
  const [were, are] = [linesOf(before), linesOf(other)];
  const added = [...are].filter((line) => !were.has(line));
  const removed = [...were].filter((line) => !are.has(line));
  const [all, others] = [wordsOf(mine), wordsOf(other)];
  if ((added.length + removed.length) * (all.length + others.length) > MOST_COMPARED) return false;
  const times = (line: string, text: string) => text.split(line).length - 1;
  return (
    added.every((line) => all.includes(line)) &&
    removed.every((line) => times(line, all) <= times(line, others))
  );
}

/** Characters that are searched for the lines of others; beyond that, a change counts as lost and is sent back. */
const MOST_COMPARED = 200_000_000;

/** The words of a text, each between spaces. */
function wordsOf(text: string): string {
  return ` ${(text.match(/[\p{L}\p{N}_]+/gu) ?? []).join(" ")} `.replace(/^ {2}$/, " ");
}

/** Each line with its line end. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function lineEnd(text: string): "\n" | "\r\n" | null {
  const all = text.split("\n").length - 1;
  const windows = text.split("\r\n").length - 1;
  if (all === 0) return null;
  return windows === 0 ? "\n" : windows === all ? "\r\n" : null;
}

/** A side whose line ends are all of the other kind gets those of the base. */
function withLineEnds(text: string, wanted: "\n" | "\r\n" | null): string {
  const own = lineEnd(text);
  if (wanted === null || own === null || own === wanted) return text;
  return wanted === "\n" ? text.replaceAll("\r\n", "\n") : text.replaceAll("\n", "\r\n");
}

/** Lines `from` up to `to` of the base became `lines`. */
interface LineChange {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

function mergeLines(
  base: readonly string[],
  ours: readonly string[],
  theirs: readonly string[],
  limitMs: number,
): string[] | "touching" | "too-slow" {
  const mine = lineChanges(base, ours, limitMs / 2);
  const other = lineChanges(base, theirs, limitMs / 2);
  if (mine === null || other === null) return "too-slow";
  const merged: string[] = [];
  let at = 0;
  let [i, j] = [0, 0];
  for (;;) {
    const [a, b] = [mine[i], other[j]];
    if (a === undefined && b === undefined) break;
    if (a !== undefined && b !== undefined && touches(a, b)) {
      if (!isSameChange(a, b)) return "touching";
      j++;
      continue;
    }
    const next = b === undefined || (a !== undefined && a.from < b.from) ? (a as LineChange) : b;
    for (let line = at; line < next.from; line++) merged.push(base[line] as string);
    for (const line of next.lines) merged.push(line);
    at = next.to;
    if (next === a) i++;
    else j++;
  }
  for (let line = at; line < base.length; line++) merged.push(base[line] as string);
  // Only the last line of a text has no line end.
  return merged.slice(0, -1).every((line) => line.endsWith("\n")) ? merged : "touching";
}

/** Neighbours touch as well: what is written beside a change was written for the line as it was. */
function touches(a: LineChange, b: LineChange): boolean {
  return a.from <= b.to && b.from <= a.to;
}

function isSameChange(a: LineChange, b: LineChange): boolean {
  return (
    a.from === b.from &&
    a.to === b.to &&
    a.lines.length === b.lines.length &&
    a.lines.every((line, at) => line === b.lines[at])
  );
}

/** The changes, in the order of the base; null where that took too long. */
function lineChanges(base: readonly string[], side: readonly string[], limitMs: number): LineChange[] | null {
  let head = 0;
  while (head < base.length && head < side.length && base[head] === side[head]) head++;
  let tail = 0;
  while (
    tail < base.length - head &&
    tail < side.length - head &&
    base[base.length - 1 - tail] === side[side.length - 1 - tail]
  )
    tail++;
  const parts = diffArrays(base.slice(head, base.length - tail), side.slice(head, side.length - tail), {
    timeout: limitMs,
  });
  if (parts === undefined) return null;
  const changes: LineChange[] = [];
  let at = head;
  for (const { added, removed, value } of parts) {
    if (!added && !removed) {
      at += value.length;
      continue;
    }
    const last = changes.at(-1);
    const [from, to] = removed ? [at, at + value.length] : [at, at];
    const lines = removed ? [] : value;
    if (removed) at = to;
    if (last !== undefined && last.to === from)
      changes[changes.length - 1] = { from: last.from, to, lines: [...last.lines, ...lines] };
    else changes.push({ from, to, lines });
  }
  return changes;
}
