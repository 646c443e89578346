import { indentLength, isAscii, readableText, trimBlank } from "../platform/bytes-text.ts";
import type { Hunk, HunkLine, MatchStrategy } from "./patch-command.ts";
import {
  type KeyRung,
  type LineIndex,
  lineKey,
  type MatchTarget,
  SCANNED_IN_STEP,
  SIGNIFICANT,
  spendBudget,
} from "./target-lines.ts";

/** The position in the file that the hunks have reached. */
export interface MatchProgress {
  /** First line after the hunk placed last. */
  readonly after: number;
  /** The distance of the last placed hunk from its claimed line. */
  readonly offset: number;
}

/** Picks one of several places at which a hunk matches, or -1. Line numbers and anchors break ties; it never guesses. */
export function breakTie(
  target: MatchTarget,
  hunk: Hunk,
  oldCount: number,
  places: readonly number[],
  progress: MatchProgress,
): number {
  if (places.length === 1) return places[0]!;
  if (hunk.atEnd === true) {
    const last = places.at(-1)!;
    return restIsBlank(target, last + oldCount) ? last : -1;
  }
  if (hunk.oldStart !== undefined) return nearest(places, hunk.oldStart - 1 + progress.offset);
  const later = places.filter((place) => place >= progress.after);
  if (hunk.anchors !== undefined && hunk.anchors.length > 0) {
    return afterAnchors(target, hunk.anchors, progress.after, later);
  }
  return progress.after > 0 && later.length === 1 ? later[0]! : -1;
}

function restIsBlank(target: MatchTarget, from: number): boolean {
  for (let i = from; i < target.file.count; i++) if (trimBlank(target.file.line(i)) !== "") return false;
  return true;
}

/** The nearer one; of two at the same distance the later one, as in git. */
function nearest(places: readonly number[], wanted: number): number {
  let best = -1;
  for (const place of places) {
    if (best < 0 || Math.abs(place - wanted) <= Math.abs(best - wanted)) best = place;
  }
  return best;
}

/** The first place after the innermost anchor, if all lines that could be that anchor lead to the same one. */
function afterAnchors(
  target: MatchTarget,
  anchors: readonly string[],
  from: number,
  places: readonly number[],
): number {
  const chosen = new Set<number>();
  for (const line of anchorLines(target, anchors, from)) {
    const place = places.find((candidate) => candidate >= line);
    if (place !== undefined) chosen.add(place);
  }
  return chosen.size === 1 ? [...chosen][0]! : -1;
}

/** The lines that can be the innermost anchor, each outer one having been passed. */
export function anchorLines(target: MatchTarget, anchors: readonly string[], from: number): number[] {
  let start = from;
  let lines: number[] = [];
  for (const anchor of anchors) {
    lines = linesLike(target, anchor).filter((line) => line >= start);
    if (lines.length === 0) return [];
    start = lines[0]! + 1;
  }
  return lines;
}

/** Whole lines first, then lines that begin with the anchor, then lines that contain it. */
function linesLike(target: MatchTarget, anchor: string): readonly number[] {
  const key = lineKey("indent", anchor);
  if (key === "") return [];
  const whole = target.index.places("indent", key);
  if (whole.length > 0) return whole;
  const keys = target.index.keys("indent");
  target.budget.left -= keys.length;
  const starting: number[] = [];
  const containing: number[] = [];
  keys.forEach((line, i) => {
    if (line.startsWith(key)) starting.push(i);
    else if (line.includes(key)) containing.push(i);
  });
  return starting.length > 0 ? starting : containing;
}

export function oldText(lines: readonly HunkLine[]): string {
  let text = "";
  for (const line of lines) if (line.tag !== "+") text += line.text + line.eol;
  return text;
}

/** Every line at which the old text matches byte for byte. */
function findExact(target: MatchTarget, lines: readonly HunkLine[], old: string): number[] {
  const { file, budget } = target;
  const keys: string[] = [];
  for (const line of lines) if (line.tag !== "+") keys.push(lineKey("whitespace", line.text));
  return target.index.starts("whitespace", keys).filter((line) => {
    if (line < 0 || line + keys.length > file.count || !spendBudget(budget, 1 + old.length / 100))
      return false;
    const end = file.starts[line]! + old.length;
    return end === file.starts[line + keys.length] && file.text.startsWith(old, file.starts[line]);
  });
}

/** The claimed line if the old text is exactly there: no other place can be nearer. Else -1. */
export function matchesAsClaimed(
  target: MatchTarget,
  hunk: Hunk,
  old: string,
  oldCount: number,
  progress: MatchProgress,
): number {
  if (hunk.oldStart === undefined) return -1;
  const line = hunk.oldStart - 1 + progress.offset;
  const { file } = target;
  if (line < 0 || line + oldCount > file.count) return -1;
  const end = file.starts[line]! + old.length;
  const whole = end === file.starts[line + oldCount] && file.text.startsWith(old, file.starts[line]);
  return whole && target.free(line, hunk.lines) ? line : -1;
}

/** git's place, or -1: nearest to the claimed line, forward first. Claiming line 1 means the start, no trailing context the end. */
export function gitPlace(
  target: MatchTarget,
  hunk: Hunk,
  old: string,
  oldCount: number,
  expected: number,
): number {
  const { file } = target;
  const fromStart = (hunk.oldStart ?? 0) <= 1;
  const toEnd = hunk.lines.at(-1)?.tag !== " ";
  const fits = (line: number) =>
    line >= 0 &&
    line + oldCount <= file.count &&
    (!fromStart || line === 0) &&
    (!toEnd || line + oldCount === file.count) &&
    file.text.startsWith(old, file.starts[line]) &&
    (old.endsWith("\n") || old === "" || line + oldCount === file.count) &&
    target.untouched(line, oldCount);
  if (fromStart) return fits(0) ? 0 : -1;
  if (toEnd) return fits(file.count - oldCount) ? file.count - oldCount : -1;
  const wanted = Math.min(Math.max(expected, 0), file.count);
  if (fits(wanted)) return wanted;
  if (lacksLine(target, hunk.lines)) return -1;
  let before = -1;
  let after = -1;
  for (const line of findExact(target, hunk.lines, old)) {
    if (!fits(line)) continue;
    if (line < wanted) before = line;
    else if (after < 0) after = line;
  }
  if (after < 0 || before < 0) return Math.max(after, before);
  return after - wanted <= wanted - before ? after : before;
}

/** How indentation in an edit translates to indentation in the file; null where no one rule explains all lines. */
type Reindent = (text: string) => string;

interface IndentPair {
  readonly edit: string;
  readonly file: string;
}

const INDENT_UNITS = ["\t", "    ", "  ", "        ", "   "] as const;

/** `pairs` are the lines that match each other but for their indentation. */
function findReindent(pairs: readonly (readonly [edit: string, file: string])[]): Reindent | null {
  const indents = indentsOf(pairs);
  return indents === null ? null : (shiftOf(indents) ?? indentUnits(indents));
}

function indentsOf(pairs: readonly (readonly [edit: string, file: string])[]): IndentPair[] | null {
  const seen = new Map<string, string>();
  for (const [edit, file] of pairs) {
    const editIndent = edit.slice(0, indentLength(edit));
    if (editIndent.length === edit.length) continue;
    const fileIndent = file.slice(0, indentLength(file));
    const known = seen.get(editIndent);
    if (known !== undefined && known !== fileIndent) return null;
    seen.set(editIndent, fileIndent);
  }
  return [...seen].map(([edit, file]): IndentPair => ({ edit, file }));
}

/** The same string is added to, or removed from, every indentation. */
function shiftOf(indents: readonly IndentPair[]): Reindent | null {
  const first = indents[0];
  if (first === undefined) return (text) => text;
  if (first.file.endsWith(first.edit)) {
    const added = first.file.slice(0, first.file.length - first.edit.length);
    if (indents.every((pair) => pair.file === added + pair.edit))
      return (text) => (isBlank(text) ? text : added + text);
  }
  if (first.edit.endsWith(first.file)) {
    const taken = first.edit.slice(0, first.edit.length - first.file.length);
    if (indents.every((pair) => pair.edit === taken + pair.file)) {
      return (text) => (text.startsWith(taken) ? text.slice(taken.length) : text.slice(indentLength(text)));
    }
  }
  return null;
}

/** The lines of the file are those of the edit, all shifted by the same indentation. */
export function isShifted(pairs: readonly (readonly [edit: string, file: string])[]): boolean {
  const indents = indentsOf(pairs);
  return indents !== null && shiftOf(indents) !== null;
}

/** Another unit (tabs for spaces, two for four), perhaps some levels deeper. */
function indentUnits(indents: readonly IndentPair[]): Reindent | null {
  let best: { from: string; to: string; levels: number } | null = null;
  for (const from of INDENT_UNITS) {
    for (const to of INDENT_UNITS) {
      if (from === to) continue;
      const levels = levelsBetween(indents, from, to);
      if (levels !== null && (best === null || Math.abs(levels) < Math.abs(best.levels)))
        best = { from, to, levels };
    }
  }
  if (best === null) return null;
  const { from, to, levels } = best;
  return (text) => {
    if (isBlank(text)) return text;
    const depth = depthOf(text, from);
    return to.repeat(Math.max(0, depth + levels)) + text.slice(depth * from.length);
  };
}

function levelsBetween(indents: readonly IndentPair[], from: string, to: string): number | null {
  let levels: number | null = null;
  for (const { edit, file } of indents) {
    const editDepth = depthOf(edit, from);
    const fileDepth = depthOf(file, to);
    if (edit.slice(editDepth * from.length) !== file.slice(fileDepth * to.length)) return null;
    if (levels !== null && levels !== fileDepth - editDepth) return null;
    levels = fileDepth - editDepth;
  }
  return levels;
}

function depthOf(text: string, unit: string): number {
  let depth = 0;
  while (text.startsWith(unit, depth * unit.length)) depth++;
  return depth;
}

function isBlank(text: string): boolean {
  return indentLength(text) === text.length;
}

/**
 * The last rung: the context has changed since the edit was written. The deleted lines must still be there,
 * adjacent, modulo white space and look-alikes; at least half of the context must match. An edit
 * that deletes nothing needs the lines on both sides of what it inserts, next to each other, and most of the rest.
 */
interface DriftPlace {
  /** The line at which `lines` start: the hunk without its outer context. */
  readonly line: number;
  readonly lines: readonly HunkLine[];
  readonly reindent: Reindent;
}

function findDrifted(target: MatchTarget, lines: readonly HunkLine[]): DriftPlace[] {
  const core = driftCore(lines);
  if (core === null) return [];
  const old = lines.filter((line) => line.tag !== "+");
  const oldKeys = old.map((line) => lineKey("indent", line.text));
  const must = mustMatch(core, old.length);
  if (!must.some((i) => SIGNIFICANT.test(oldKeys[i]!))) return [];
  const contextCount = old.filter((line, i) => line.tag === " " && oldKeys[i] !== "").length;
  if (contextCount === 0) return [];
  const { index } = target;
  const found: DriftPlace[] = [];
  for (const start of target.index.starts("indent", oldKeys, must)) {
    if (!spendBudget(target.budget, 1)) break;
    if (!must.every((i) => index.key("indent", start + i) === oldKeys[i])) continue;
    if (!spendBudget(target.budget, must.length + old.length * COMPARED_NEAR)) break;
    const matched = old.filter(
      (line, i) => line.tag === " " && oldKeys[i] !== "" && isNear(index, start + i, oldKeys[i]!),
    );
    if (matched.length * 2 < contextCount) continue;
    const place = toDriftPlace(target, core, old, oldKeys, start);
    if (place !== null && found.push(place) >= MOST_DRIFTED) break;
  }
  return found;
}

interface DriftCore {
  readonly lines: readonly HunkLine[];
  /** Index among the old lines of the first and one past the last old line of the core. */
  readonly first: number;
  readonly end: number;
  readonly deletes: boolean;
}

function driftCore(lines: readonly HunkLine[]): DriftCore | null {
  const from = lines.findIndex((line) => line.tag !== " ");
  const to = lines.findLastIndex((line) => line.tag !== " ");
  if (from < 0) return null;
  const core = lines.slice(from, to + 1);
  const end = from + core.filter((line) => line.tag !== "+").length;
  return { lines: core, first: from, end, deletes: core.some((line) => line.tag === "-") };
}

/** Indexes of the old lines that may not drift. */
function mustMatch(core: DriftCore, oldCount: number): number[] {
  if (core.deletes) {
    const must: number[] = [];
    let old = core.first;
    for (const { tag } of core.lines) {
      if (tag === "-") must.push(old);
      if (tag !== "+") old++;
    }
    return must;
  }
  const must: number[] = [];
  for (let i = core.first - 1; i <= core.end; i++) if (i >= 0 && i < oldCount) must.push(i);
  return must.length >= 2 ? must : [];
}

/** The steps of one line of context. */
const COMPARED_NEAR = 8;
/** With this many places, further ones do not matter: the hunk is ambiguous. */
const MOST_DRIFTED = 20;

/** Context counts up to three lines away. */
function isNear(index: LineIndex, line: number, key: string): boolean {
  if (index.key("indent", line) === key) return true;
  for (let away = -3; away <= 3; away++) if (index.key("indent", line + away) === key) return true;
  return false;
}

function toDriftPlace(
  target: MatchTarget,
  core: DriftCore,
  old: readonly HunkLine[],
  oldKeys: readonly string[],
  start: number,
): DriftPlace | null {
  const { file, index } = target;
  if (start + core.first < 0 || start + core.end > file.count) return null;
  const pairs: [string, string][] = [];
  old.forEach((line, i) => {
    if (index.key("indent", start + i) === oldKeys[i] && oldKeys[i] !== "")
      pairs.push([line.text, file.line(start + i)]);
  });
  const reindent = findReindent(pairs);
  return reindent === null ? null : { line: start + core.first, lines: core.lines, reindent };
}

/** The position of a hunk, and how its lines are read there. */
export interface Placement {
  readonly line: number;
  readonly lines: readonly HunkLine[];
  readonly strategy: MatchStrategy;
  readonly reindent?: Reindent;
  /** It only inserts, at the end of the file. */
  readonly last?: boolean;
}

export type HunkSearch =
  | { readonly found: "one"; readonly placement: Placement }
  | { readonly found: "many"; readonly lines: readonly number[] }
  | { readonly found: "none" };

const NOT_FOUND: HunkSearch = { found: "none" };

/**
 * Looks for a hunk rung by rung: exact, line ends and trailing white space, look-alike characters, indentation,
 * drifted context. The first rung with a match decides; if it has several, a tie-break must settle it.
 * Before the last rung the hunk is tried without blank lines at its edges and without copied line numbers.
 */
export function searchHunk(target: MatchTarget, hunk: Hunk, progress: MatchProgress): HunkSearch {
  for (const lines of hunkReadings(hunk.lines)) {
    if (lacksLine(target, lines)) continue;
    const sought = searchReading(target, { ...hunk, lines }, progress);
    if (sought.found !== "none") return sought;
  }
  if (lacksLine(target, hunk.lines)) return NOT_FOUND;
  const drifted = findDrifted(target, hunk.lines).filter((place) => target.free(place.line, place.lines));
  if (drifted.length > 1) return { found: "many", lines: drifted.map((place) => place.line) };
  return drifted[0] ? { found: "one", placement: { ...drifted[0], strategy: "drift" } } : NOT_FOUND;
}

/** For a block that quotes parts of lines, whole words that occur once. Null else; `there`: the line that has the result already. */
export function findWithinLines(
  target: MatchTarget,
  hunk: Hunk,
): Placement | { readonly there: number } | null {
  const { file, budget } = target;
  const eol = file.mainEol() || "\n";
  const side = (other: HunkLine["tag"]) =>
    hunk.lines.flatMap(({ tag, text }) => (tag === other ? [] : [text]));
  const [sought, result] = [side("+"), side("-")];
  // A blank line at an edge is the end of another line.
  if ([sought[0], sought.at(-1)].some((text) => trimBlank(text ?? "") === "")) return null;
  const [old, made] = [sought.join(eol), result.join(eol)];
  const at = placeOnce(file.text, old);
  if (!spendBudget(budget, file.text.length / SCANNED_IN_STEP) || at < 0) return null;
  if ((eol === "\r\n" ? /\r(?!\n)|(?<!\r)\n/ : /\r/).test(file.text)) return null;
  // The edit may have replaced whole lines before, wherever its result occurs; an empty result occurs everywhere.
  const keys = result.map((text) => lineKey("indent", text));
  if (keys.length === 0 || target.index.findAll("indent", keys).length > 0) return null;
  const within = made.indexOf(old);
  const end = at + old.length;
  const [first, last] = [file.lineWith(at), file.lineWith(end - 1)];
  if (within >= 0 && file.text.startsWith(made, at - within)) return { there: first };
  const rest = file.line(last).slice(end - file.starts[last]!);
  const insert = (file.text.slice(file.starts[first], at) + made + rest).split(eol);
  const remove = file.excerpt(first, last + 1 - first).split("\n");
  const lines = [...remove.map(toLine("-")), ...insert.map(toLine("+"))];
  return { line: first, lines, strategy: "exact" };
}

const toLine = (tag: HunkLine["tag"]) => (text: string) => ({ tag, text, eol: "\n" });
/** Letters that have a case: languages without them write words without spaces, or join other words to them. */
const CUT_WORD = /[\p{Ll}\p{Lu}\p{M}\p{Nd}_]\0[\p{Ll}\p{Lu}\p{M}\p{Nd}_]/u;

/** The only place of a text that is not blank, if it begins and ends with whole words there; else -1. */
function placeOnce(text: string, part: string): number {
  const at = SIGNIFICANT.test(part) ? text.indexOf(part) : -1;
  if (at < 0 || text.includes(part, at + 1)) return -1;
  const near = (from: number, to: number) => readableText(text.slice(Math.max(0, from), to));
  const cuts = (place: number) => CUT_WORD.test(`${near(place - 4, place)}\0${near(place, place + 4)}`);
  return cuts(at) || cuts(at + part.length) ? -1 : at;
}

/** A deleted line occurs nowhere under any comparison, so no rung can find the hunk. */
function lacksLine(target: MatchTarget, lines: readonly HunkLine[]): boolean {
  return lines.some(({ tag, text }) => tag === "-" && target.index.lacks("indent", lineKey("indent", text)));
}

const RUNGS = ["whitespace", "look-alike", "indent"] as const;

function searchReading(target: MatchTarget, hunk: Hunk, progress: MatchProgress): HunkSearch {
  const old = hunk.lines.filter((line) => line.tag !== "+");
  if (old.length === 0) return NOT_FOUND;
  const text = oldText(hunk.lines);
  const claimed = matchesAsClaimed(target, hunk, text, old.length, progress);
  const places = claimed < 0 ? findExact(target, hunk.lines, text) : [claimed];
  const exact = settleMatches(target, hunk, places, "exact", progress);
  if (exact.found !== "none") return exact;
  const ascii = target.file.isAscii() && old.every((line) => isAscii(line.text));
  for (const rung of RUNGS) {
    if (rung === "look-alike" && ascii) continue;
    const pattern = old.map((line) => lineKey(rung, line.text));
    if (pattern.every((key) => trimBlank(key) === "")) return NOT_FOUND;
    const found = target.index.findAll(rung, pattern);
    const sought = settleMatches(target, hunk, found, rung, progress);
    if (sought.found !== "none") return sought;
  }
  return NOT_FOUND;
}

function settleMatches(
  target: MatchTarget,
  hunk: Hunk,
  places: readonly number[],
  strategy: "exact" | KeyRung,
  progress: MatchProgress,
): HunkSearch {
  const old = hunk.lines.filter((line) => line.tag !== "+");
  const open = places.filter((line) => target.free(line, hunk.lines));
  const fitting =
    strategy === "indent" ? open.filter((line) => reindentAt(target, old, line) !== null) : open;
  if (fitting.length === 0) return NOT_FOUND;
  const line = breakTie(target, hunk, old.length, fitting, progress);
  if (line < 0) return { found: "many", lines: fitting };
  const reindent = strategy === "indent" ? reindentAt(target, old, line) : null;
  return {
    found: "one",
    placement: { line, lines: hunk.lines, strategy, ...(reindent ? { reindent } : {}) },
  };
}

function reindentAt(target: MatchTarget, old: readonly HunkLine[], line: number): Reindent | null {
  spendBudget(target.budget, old.length);
  return findReindent(old.map((oldLine, i) => [oldLine.text, target.file.line(line + i)] as const));
}

/** The hunk as written, then as it may have been meant. */
function* hunkReadings(lines: readonly HunkLine[]): Generator<readonly HunkLine[]> {
  yield lines;
  const trimmed = withoutBlankEdges(lines);
  if (trimmed.length < lines.length) yield trimmed;
  const plain = withoutLineNumbers(lines);
  if (plain !== null) yield plain;
}

function withoutBlankEdges(lines: readonly HunkLine[]): readonly HunkLine[] {
  const solid = (line: HunkLine) => line.tag !== " " || trimBlank(line.text) !== "";
  const from = lines.findIndex(solid);
  return from < 0 ? lines : lines.slice(from, lines.findLastIndex(solid) + 1);
}

/** `  12| foo`, `12: foo`, `12→foo`, `    12<TAB>foo`: as tools list files. */
const NUMBERED = /^\s*(\d+)(?:\s?[|:]\s?|\xe2\x86\x92|\t)/;

function withoutLineNumbers(lines: readonly HunkLine[]): readonly HunkLine[] | null {
  let before = -1;
  const old = lines.filter((line) => line.tag !== "+");
  for (const line of old) {
    const number = Number(NUMBERED.exec(line.text)?.[1] ?? Number.NaN);
    if (!(number > before)) return null;
    before = number;
  }
  const added = lines.filter((line) => line.tag === "+");
  const allNumbered = added.every((line) => NUMBERED.test(line.text));
  return lines.map((line) =>
    line.tag === "+" && !allNumbered ? line : { ...line, text: line.text.replace(NUMBERED, "") },
  );
}
