import { createLineCounter } from "../../platform/bytes-text.ts";
import type { ParseFailure, PatchCommand } from "../patch-command.ts";

/** A patch format in a reply, raw or fenced: a new one is a file and a line in `registry.ts`. Linear in the text. */
export interface EmbeddedFormat {
  /** As results and journals name it. */
  readonly name: string;
  readonly initials: string;
  /** Whether the line `at … lineEnd` opens a patch; `at` is its first character that is not white space. */
  isMark(text: string, at: number, lineEnd: number): boolean;
  /** Whether the line above a mark belongs to the patch (a path, a here-document). */
  isLeadIn(text: string, at: number, lineEnd: number): boolean;
  /** Answers where a patch that starts at a position ends; undefined when it has no end of its own. */
  measure(text: string): (from: number) => number | undefined;
  /** A raw patch without an end runs to the end of the text; otherwise to the next block. */
  readonly runsToEnd: boolean;
  /** It takes its path from the prose above it. */
  readonly readsProse: boolean;
  /** It is read in any fence; otherwise only where the fence itself says that it is one, or says nothing. */
  readonly inAnyFence: boolean;
  /** Lines in failures and warnings count from the text's own first. */
  read(text: string, context: EmbeddedContext): EmbeddedRead;
}

export type EmbeddedRead =
  | {
      readonly ok: true;
      readonly commands: readonly PatchCommand[];
      readonly warnings: readonly string[];
      /** The lines around the patches, from 1: nothing of them is in a command. */
      readonly around?: () => readonly TextLine[];
    }
  | { readonly ok: false; readonly failure: ParseFailure };

export interface TextLine {
  readonly line: number;
  readonly text: string;
}

/** The lines of these ranges of a text, which are in its order. */
export function linesOf(text: string, ranges: readonly (readonly [number, number])[]): TextLine[] {
  const lineOf = createLineCounter(text);
  return ranges.flatMap(([from, to]) => {
    const first = lineOf(from);
    return text
      .slice(from, to)
      .split("\n")
      .map((line, at) => ({ line: first + at, text: line }));
  });
}

export interface EmbeddedContext {
  /** Names the file that the patch is for, if it is given separately: a path, or the prose above. */
  readonly lead?: { readonly path: string } | { readonly prose: string };
  /** The file of the previous block, for a block without a path. */
  readonly lastPath?: string | undefined;
  /** How many commands precede it. */
  readonly firstIndex: number;
}

/** Marker lines are short: nothing longer is looked at. */
export const LONGEST_MARK = 80;

export function markLine(text: string, at: number, lineEnd: number): string {
  return text.slice(at, Math.min(lineEnd, at + LONGEST_MARK)).trim();
}

export function isFenceMark(text: string, at: number): boolean {
  return text.startsWith("```", at) || text.startsWith("~~~", at);
}

/** The next line with something on it; `at` is its first character that is not white space. */
export function nextLine(
  text: string,
  from: number,
): { readonly at: number; readonly end: number } | undefined {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  if (at >= text.length) return undefined;
  const newline = text.indexOf("\n", at);
  return { at, end: newline === -1 ? text.length : newline };
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

/** An `indexOf` that scans the text once for increasing positions. A pattern is global and belongs to the finder. */
export function createFinder(text: string, needle: string | RegExp): (from: number) => number {
  let askedFrom = 0;
  let found = -2;
  return (from) => {
    const known = found !== -2 && askedFrom <= from && (found === -1 || from <= found);
    if (!known) {
      askedFrom = from;
      found = typeof needle === "string" ? text.indexOf(needle, from) : searchFrom(text, needle, from);
    }
    return found;
  };
}

function searchFrom(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? -1;
}

export function lineEnd(text: string, from: number): number {
  const newline = text.indexOf("\n", from);
  return newline === -1 ? text.length : newline;
}

export function shiftLines(read: EmbeddedRead, lines: number, firstIndex: number): EmbeddedRead {
  if (read.ok) return { ...read, warnings: read.warnings.map((warning) => shiftWarning(warning, lines)) };
  const { index } = read.failure;
  const failure = shiftFailure(read.failure, lines);
  return { ok: false, failure: index === undefined ? failure : { ...failure, index: firstIndex + index } };
}

/** Moves line numbers from a part of the text to the whole. */
export function shiftFailure(failure: ParseFailure, lines: number): ParseFailure {
  const line = Math.max(1, (failure.line ?? 1) + lines);
  const message = failure.message
    .replace(/ at line [0-9]+$/, ` at line ${line}`)
    .replace(/ \(line [0-9]+\)$/, ` (line ${line})`);
  const items = failure.items?.map((item) =>
    "unread" in item
      ? {
          ...item,
          line: item.line + lines,
          ...(item.wrong && { wrong: { ...item.wrong, line: item.wrong.line + lines } }),
        }
      : item,
  );
  return { ...failure, line, message, ...(items !== undefined && { items }) };
}

export function shiftWarning(warning: string, lines: number): string {
  const found = /^line ([0-9]+):/.exec(warning);
  if (found === null) return warning;
  return `line ${Math.max(1, Number(found[1]) + lines)}:${warning.slice(found[0].length)}`;
}
