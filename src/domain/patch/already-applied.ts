/**
 * Whether a file already has what a hunk makes. A file from which this very hunk could have come is left alone, so that
 * an edit that is sent again changes nothing: the result must match no worse than the old text does, and be the place
 * that the hunk would have taken.
 */
import { breakTie, isShifted, type MatchProgress, type Placement } from "./match-hunk.ts";
import type { Hunk, HunkLine, MatchStrategy } from "./patch-command.ts";
import { isTelling, type KeyRung, lineKey, type MatchTarget, spendBudget } from "./target-lines.ts";

type TextRung = "exact" | KeyRung;

/** A result that matches more exactly than the old text does is found on this rung. */
const STRONGER: Readonly<Record<MatchStrategy, TextRung | null>> = {
  exact: null,
  whitespace: "exact",
  "look-alike": "whitespace",
  indent: "look-alike",
  drift: "indent",
};

function linesAfter(lines: readonly HunkLine[]): HunkLine[] {
  return lines.filter((line) => line.tag !== "-");
}

/** The line of the result of a hunk whose old text is gone, or -1. */
export function findResult(target: MatchTarget, lines: readonly HunkLine[]): number {
  const made = linesAfter(lines);
  const adds = lines.some((line) => line.tag === "+");
  return (adds || isEnclosed(lines)) && isTelling(made) ? (findLines(target, made, "indent")[0] ?? -1) : -1;
}

/** The line at which the result of a placed hunk already is, or -1. */
export function findOwnResult(
  target: MatchTarget,
  hunk: Hunk,
  placement: Placement,
  progress: MatchProgress,
  wanted = claimedLine(hunk, progress),
): number {
  const { lines, line, strategy } = placement;
  if (lines.every(({ tag }) => tag === " ")) return -1;
  const made = linesAfter(lines);
  const adds = lines.some(({ tag }) => tag === "+");
  // As its header says, byte for byte: only a result at the very same line is as likely.
  if (strategy === "exact" && line === wanted && lines === hunk.lines)
    return (adds || isEnclosed(lines)) &&
      !isWithin(target, placement, made)(line) &&
      fitsAt(target, made, line, "exact")
      ? line
      : -1;
  const beside = adds || isEnclosed(lines) ? findOverlapping(target, placement, made) : -1;
  if (beside >= 0) return beside;
  const all = linesAfter(hunk.lines);
  const evident = adds || isEnclosed(hunk.lines) || strategy === "drift";
  if (!evident) return -1;
  const telling = isTelling(all);
  // This hunk fits only after its lines were reinterpreted: its result as written is the better match.
  const rung = lines === hunk.lines || strategy === "drift" ? STRONGER[strategy] : strategy;
  const better = rung === null || !telling ? [] : findLines(target, all, rung);
  if (better.length > 0) return better[0]!;
  return findNearer(target, hunk, placement, all, progress, wanted, telling);
}

function claimedLine(hunk: Hunk, progress: MatchProgress): number | undefined {
  return hunk.oldStart === undefined ? undefined : hunk.oldStart - 1 + progress.offset;
}

/** With context before and after, so that the result of a deletion can be recognised. */
function isEnclosed(lines: readonly HunkLine[]): boolean {
  return lines[0]?.tag === " " && lines.at(-1)?.tag === " ";
}

/** A result within the old text proves nothing, unless the lines that go are there twice in a row: then nothing shows which of them are gone. */
function isWithin(
  target: MatchTarget,
  { lines, line, strategy }: Placement,
  made: readonly HunkLine[],
): (at: number) => boolean {
  const last = line + countOld(lines) - made.length;
  const rung = strategy === "drift" ? "indent" : strategy;
  // Asked for each line around a hunk, which may be as long as its file.
  let repeats: boolean | undefined;
  return (at) => {
    if (at < line || at > last) return false;
    repeats ??=
      isEnclosed(lines) &&
      last > line &&
      [line, last].every((end) => fitsAt(target, made, end, rung)) &&
      isTwiceInRow(target, { line, count: made.length, period: last - line }, rung);
    return !repeats;
  };
}

/** Whether lines that are equal to those one period later continue, on both sides, to at least a whole period. */
function isTwiceInRow(
  { index, budget }: MatchTarget,
  { line, count, period }: { readonly line: number; readonly count: number; readonly period: number },
  rung: TextRung,
): boolean {
  const key = rung === "exact" ? "whitespace" : rung;
  const isSame = (at: number) => {
    const one = at < 0 ? undefined : index.key(key, at);
    return one !== undefined && one === index.key(key, at + period);
  };
  let [from, end] = [line, line + count];
  while (end - from < period && isSame(from - 1)) from--;
  while (end - from < period && isSame(end)) end++;
  spendBudget(budget, end - from);
  return end - from >= period;
}

export function countOld(lines: readonly HunkLine[]): number {
  return lines.reduce((count, { tag }) => count + (tag === "+" ? 0 : 1), 0);
}

/** A result of which the old text is a part, or which shares lines with it. */
function findOverlapping(target: MatchTarget, placement: Placement, made: readonly HunkLine[]): number {
  const { line, lines, strategy } = placement;
  const rung = strategy === "drift" ? "indent" : strategy;
  const end = line + Math.max(1, countOld(lines));
  const within = isWithin(target, placement, made);
  // Lines that are alike on any rung are alike but for their indentation.
  const keys = made.map(({ text }) => lineKey("indent", text));
  for (let at = Math.max(0, line - made.length + 1); made.length > 0 && at < end; at++) {
    if (within(at) || !target.index.fitsAt("indent", keys, at)) continue;
    if (rung === "indent" || fitsAt(target, made, at, rung)) return at;
    if (at <= line && at + made.length >= end && isMoved(target, made, at)) return at;
  }
  return -1;
}

/** Whether the result was written with another indentation than the file has, and was moved as a whole: then the old text is a part of it. */
function isMoved({ file }: MatchTarget, made: readonly HunkLine[], at: number): boolean {
  return isShifted(made.map((line, i) => [line.text, file.line(at + i)] as const));
}

/** Where line numbers or anchors choose among several places, a result that they would have chosen before this place. */
function findNearer(
  target: MatchTarget,
  hunk: Hunk,
  placement: Placement,
  made: readonly HunkLine[],
  progress: MatchProgress,
  wanted: number | undefined,
  telling: boolean,
): number {
  const { strategy, line, lines } = placement;
  if (strategy === "drift") return -1;
  const hints = wanted !== undefined || hunk.atEnd === true || (hunk.anchors?.length ?? 0) > 0;
  if (!hints && (!telling || progress.after === 0)) return -1;
  const old = countOld(lines);
  // Lines that say little count as a result only if the hints lead to them and not to the old text.
  const leadsHere =
    !telling && wanted === undefined && breakTie(target, hunk, old, [line, line], progress) >= 0;
  if (leadsHere) return -1;
  const results = findLines(target, made, strategy).filter(
    (at) => at + made.length <= line || at >= line + old,
  );
  if (results.length === 0) return -1;
  if (wanted !== undefined) {
    const away = Math.abs(line - wanted);
    return results.find((at) => Math.abs(at - wanted) <= (telling ? away : 0)) ?? -1;
  }
  const places = [...results, line].toSorted((a, b) => a - b);
  const chosen = breakTie(target, hunk, old, places, progress);
  return chosen === line ? -1 : chosen;
}

function findLines(target: MatchTarget, made: readonly HunkLine[], rung: TextRung): number[] {
  if (made.length === 0) return [];
  const key = rung === "exact" ? "whitespace" : rung;
  const pattern = made.map((line) => lineKey(key, line.text));
  const found = target.index.findAll(key, pattern);
  return rung === "exact" ? found.filter((at) => fitsAt(target, made, at, "exact")) : found;
}

function fitsAt(target: MatchTarget, made: readonly HunkLine[], at: number, rung: TextRung): boolean {
  const { file, index } = target;
  if (made.length === 0 || at < 0 || at + made.length > file.count) return false;
  let same = 0;
  const isSame = (line: HunkLine) =>
    rung === "exact"
      ? isLine(target, line, at + same)
      : index.key(rung, at + same) === lineKey(rung, line.text);
  while (same < made.length && isSame(made[same]!)) same++;
  spendBudget(target.budget, same + 1);
  return same === made.length;
}

function isLine({ file }: MatchTarget, { text, eol }: HunkLine, line: number): boolean {
  const start = file.starts[line]!;
  return (
    file.starts[line + 1]! - start === text.length + eol.length &&
    file.text.startsWith(text, start) &&
    file.text.startsWith(eol, start + text.length)
  );
}

/** Whether lines that only are inserted, without any around them, are already directly before or after that place. */
export function isInsertedAt(target: MatchTarget, lines: readonly HunkLine[], line: number): boolean {
  return (
    fitsAt(target, lines, line, "whitespace") || fitsAt(target, lines, line - lines.length, "whitespace")
  );
}
