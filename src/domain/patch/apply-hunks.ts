import { BOM, fromBytesText, isAscii, joinBytes, readableText, toBytesText } from "../platform/bytes-text.ts";
import { countOld, findOwnResult, findResult, isInsertedAt } from "./already-applied.ts";
import {
  anchorLines,
  findWithinLines,
  gitPlace,
  type MatchProgress,
  matchesAsClaimed,
  oldText,
  type Placement,
  searchHunk,
} from "./match-hunk.ts";
import type { Hunk, HunkLine, HunkReport, MatchCandidate } from "./patch-command.ts";
import {
  lineKey,
  type Matching,
  type MatchTarget,
  SCANNED_IN_STEP,
  spendBudget,
  TextLines,
} from "./target-lines.ts";

/** Where a hunk that was not found may be meant: lines in common vote, else letter pairs of the longest. Bounded; never written. */
const MAX_CANDIDATES = 3;
const MAX_VOTES_PER_LINE = 50;
const MAX_COMPARED_LINES = 5_000;
const MAX_LINE = 200;
const SHOWN_LINES = 12;
const SHOWN_BEFORE = 3;
const WORTH_SHOWING = 0.4;

function suggestPlaces(target: MatchTarget, lines: readonly HunkLine[]): MatchCandidate[] {
  const old = lines.filter((line) => line.tag !== "+").slice(0, 400);
  const oldKeys = old.map((line) => lineKey("indent", line.text));
  if (oldKeys.every((key) => key === "") || target.file.count === 0 || target.hints.left <= 0) return [];
  const starts = votedPlaces(target, oldKeys);
  const candidates = (starts.length > 0 ? starts : resembling(target, oldKeys)).map((start) => {
    const line = Math.max(0, start);
    const similarity = similarityAt(target, oldKeys, start);
    const at =
      old.length === 1 ? -1 : oldKeys.findIndex((key, i) => target.index.key("indent", start + i) !== key);
    const isThere = at >= 0 && start + at >= 0 && start + at < target.file.count;
    if (!isThere) return { line: line + 1, text: showCandidate(target, line, old.length), similarity };
    // Lines before it are as expected: only a few of them say where it is.
    const from = start + at - line < SHOWN_LINES ? line : start + at - SHOWN_BEFORE;
    return {
      line: line + 1,
      text: showCandidate(target, from, start + old.length - from),
      ...(from !== line && { from: from + 1 }),
      differs: { line: start + at + 1, expected: readableText(old[at]!.text).slice(0, MAX_LINE) },
      similarity,
    };
  });
  return candidates
    .filter((candidate) => candidate.similarity >= WORTH_SHOWING)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, MAX_CANDIDATES);
}

/** Where an ambiguous hunk matches. */
function matchingPlaces(target: MatchTarget, places: readonly number[], count: number): MatchCandidate[] {
  return places.slice(0, 5).map((line) => ({
    line: line + 1,
    text: showCandidate(target, line, Math.min(count, 3)),
    similarity: 1,
  }));
}

function showCandidate(target: MatchTarget, line: number, count: number): string {
  const text = readableText(target.file.excerpt(line, Math.min(count, SHOWN_LINES)));
  return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text;
}

function votedPlaces(target: MatchTarget, oldKeys: readonly string[]): number[] {
  const votes = new Map<number, number>();
  oldKeys.forEach((key, i) => {
    const places = key.length > 1 ? target.index.places("indent", key) : [];
    if (places.length > MAX_VOTES_PER_LINE) return;
    for (const place of places) votes.set(place - i, (votes.get(place - i) ?? 0) + 1);
  });
  spendBudget(target.hints, votes.size);
  return [...votes]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MAX_CANDIDATES)
    .map(([start]) => start);
}

function resembling(target: MatchTarget, oldKeys: readonly string[]): number[] {
  let longest = 0;
  oldKeys.forEach((key, i) => {
    if (key.length > oldKeys[longest]!.length) longest = i;
  });
  const keys = target.index.keys("indent").slice(0, MAX_COMPARED_LINES);
  if (!spendBudget(target.hints, keys.length * 20)) return [];
  const likenessTo = compareWith(oldKeys[longest]!);
  return keys
    .map((key, line) => ({ line, score: likenessTo(key) }))
    .filter(({ score }) => score >= WORTH_SHOWING)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_CANDIDATES)
    .map(({ line }) => line - longest);
}

function similarityAt(target: MatchTarget, oldKeys: readonly string[], start: number): number {
  let sum = 0;
  for (let i = 0; i < oldKeys.length; i++) {
    const key = target.index.key("indent", start + i);
    if (key === oldKeys[i]) sum += 1;
    else if (key !== undefined && spendBudget(target.hints, 20)) sum += compareWith(oldKeys[i]!)(key);
  }
  return Math.round((sum / oldKeys.length) * 100) / 100;
}

/** A whole line that contains the searched one, unless that is short: the searched line was cut. */
function compareWith(wanted: string): (key: string) => number {
  const pairs = new Map<number, number>();
  for (const pair of pairsOf(wanted)) pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  return (key) => (wanted.length >= 8 && key.includes(wanted) ? 0.95 : likeness(pairs, wanted, key));
}

/** Dice's coefficient over letter pairs: 0 nothing in common, 1 the same pairs. */
function likeness(pairs: ReadonlyMap<number, number>, wanted: string, text: string): number {
  const size = Math.min(wanted.length, MAX_LINE) + Math.min(text.length, MAX_LINE) - 2;
  if (wanted.length < 2 || text.length < 2) return 0;
  const seen = new Map<number, number>();
  let shared = 0;
  for (const pair of pairsOf(text)) {
    const count = pairs.get(pair);
    if (count === undefined) continue;
    const before = seen.get(pair) ?? 0;
    if (before < count) shared++;
    seen.set(pair, before + 1);
  }
  return (2 * shared) / size;
}

function pairsOf(text: string): number[] {
  const pairs: number[] = [];
  for (let i = 1; i < text.length && i < MAX_LINE; i++)
    pairs.push(text.charCodeAt(i - 1) * 65_536 + text.charCodeAt(i));
  return pairs;
}

/** One change of a file: at a line, a number of lines is replaced by these. */
interface Splice {
  /** 0-based line of the file before the edit. */
  readonly at: number;
  readonly remove: number;
  readonly insert: readonly InsertedLine[];
  /** Appended to the file, after all other appended text. */
  readonly last?: boolean;
}

interface InsertedLine {
  readonly text: string;
  /** The line end to write; null: the one its neighbours have. */
  readonly eol: string | null;
}

/** Carries out splices that do not overlap. Every byte outside them stays. */
function composeText(file: TextLines, splices: readonly Splice[]): string {
  const ordered = splices.toSorted(compareSplices);
  const parts: string[] = [];
  let kept = 0;
  for (const splice of ordered) {
    parts.push(file.text.slice(kept, file.starts[splice.at]!));
    if (splice.insert.length > 0) {
      if (splice.at === file.count && endsOpen(file, parts)) parts.push(file.mainEol() || "\n");
      pushInserted(file, splice, parts);
    }
    kept = file.starts[splice.at + splice.remove]!;
  }
  parts.push(file.text.slice(kept));
  return parts.join("");
}

/** At one line, insertions before it are first, then its replacement. */
function compareSplices(a: Splice, b: Splice): number {
  return (
    a.at - b.at || Math.sign(a.remove) - Math.sign(b.remove) || Number(a.last ?? 0) - Number(b.last ?? 0)
  );
}

/** The text so far stops in the middle of a line. */
function endsOpen(file: TextLines, parts: readonly string[]): boolean {
  const text = parts.findLast((part) => part !== "");
  return text !== undefined && !file.endsLine(text);
}

function pushInserted(file: TextLines, splice: Splice, parts: string[]): void {
  const end = splice.at + splice.remove;
  const endsOpen = end === file.count && file.count > 0 && file.eol(file.count - 1) === "";
  let eol: string | null = null;
  splice.insert.forEach((line, i) => {
    const last = i === splice.insert.length - 1;
    if (line.eol !== null && (line.eol !== "" || (last && end === file.count)))
      parts.push(line.text, line.eol);
    else if (last && endsOpen) parts.push(line.text);
    else {
      eol ??= neighbourEol(file, splice.at, end);
      parts.push(line.text, eol);
    }
  });
}

/** The line end of both neighbours if they agree, else that of most of the file. */
function neighbourEol(file: TextLines, at: number, end: number): string {
  const before = at > 0 ? file.eol(at - 1) : "";
  const after = end < file.count ? file.eol(end) : "";
  if (before !== "" && (after === "" || after === before)) return before;
  if (before === "" && after !== "") return after;
  return file.mainEol() || "\n";
}

/** Whose rules apply: git's for diffs (bytes as written, claimed lines), ours for the formats of models. */
export type MatchRule = "diff" | "v4a" | "search-replace";

export interface HunksApplied {
  readonly ok: boolean;
  /** The new text; the old one where `ok` is false. */
  readonly text: string;
  readonly reports: readonly HunkReport[];
}

const MAX_SUGGESTIONS = 20;
const TOO_LARGE = "not found: patch and file are too large to search further; split it into smaller edits";
const AGAIN = "sent again, it would change its own result: add the lines around it";

/** Applies all hunks to a bytes text, or none. Hunks are placed on the lines the text had before the edit. */
export function applyHunks(
  path: string,
  text: string,
  hunks: readonly Hunk[],
  rule: MatchRule,
  matching: Matching,
): HunksApplied {
  const bom = text.startsWith(BOM) && !mentionsBom(hunks) ? BOM : "";
  const body = bom === "" ? text : text.slice(BOM.length);
  const lines = matching.divide(body);
  let done = applyToLines(path, lines, hunks, rule, matching);
  if (!done.ok && !isThere(done.reports) && lines.hasLoneCr()) {
    const again = applyToLines(path, new TextLines(body, true), hunks, rule, matching);
    if (again.ok) done = again;
  }
  return done.ok ? { ...done, text: bom + done.text } : { ...done, text };
}

function isThere(reports: readonly HunkReport[]): boolean {
  return reports.some((report) => report.status === "already-applied");
}

function mentionsBom(hunks: readonly Hunk[]): boolean {
  return hunks.some((hunk) => hunk.lines.some((line) => line.text.startsWith(BOM)));
}

function applyToLines(
  path: string,
  opened: TextLines,
  hunks: readonly Hunk[],
  rule: MatchRule,
  matching: Matching,
  checks = true,
): HunksApplied {
  const target = matching.open(path, opened, checks ? hunks : []);
  const { file } = target;
  const splices: Splice[] = [];
  const found: Placement[] = [];
  const reports: HunkReport[] = [];
  let failed = 0;
  let grown = 0;
  let progress: MatchProgress = { after: 0, offset: 0 };
  for (const [i, hunk] of hunks.entries()) {
    const mayShow = checks && matching.suggested < MAX_SUGGESTIONS;
    const placed = placeHunk(target, hunk, rule, progress, grown, mayShow);
    if (!("line" in placed)) {
      failed++;
      if (placed.candidates !== undefined) matching.suggested++;
      reports.push({ path, hunk: i + 1, ...placed });
      if (checks) continue;
      break;
    }
    found.push(placed);
    const { line, lines, strategy } = placed;
    reports.push({ path, hunk: i + 1, status: "applied", strategy, line: line + 1 });
    pushSplices(splices, placed, rule, file);
    // A hunk placed at the end of the file does not show where the next hunk belongs.
    if (placed.last) continue;
    target.take(line, lines);
    const oldCount = countOld(lines);
    grown += lines.length - oldCount - lines.reduce((count, each) => count + (each.tag === "-" ? 1 : 0), 0);
    progress = {
      after: line + oldCount,
      offset: hunk.oldStart === undefined ? 0 : line - (hunk.oldStart - 1),
    };
  }
  if (failed > 0) return { ok: false, text: file.text, reports };
  const composed = composeText(file, splices);
  const text = rule === "v4a" ? withLastLineEnded(composed, file) : composed;
  const gone = () =>
    hunks.some((hunk, i) => isGone(text, hunk.lines, target) && isGone(text, found[i]!.lines, target));
  if (!checks || text === file.text || gone()) return { ok: true, text, reports };
  // The edit may be sent again, and must not find a place in its own result then.
  const again = applyToLines(path, new TextLines(text, file.loneCr), hunks, rule, matching, false);
  const message = matching.budget.left <= 0 ? TOO_LARGE : again.ok && again.text !== text ? AGAIN : null;
  if (message === null) return { ok: true, text, reports };
  const refused = reports.map((_, i): HunkReport => ({ path, hunk: i + 1, status: "refused", message }));
  return { ok: false, text: file.text, reports: refused };
}

/** The longest line that it deletes occurs nowhere, under any comparison. */
function isGone(text: string, lines: readonly HunkLine[], { budget }: MatchTarget): boolean {
  const keys = lines.map(({ tag, text }) => (tag === "-" ? lineKey("indent", text) : ""));
  const longest = keys.reduce((best, key) => (key.length > best.length ? key : best), "");
  return (
    spendBudget(budget, text.length / SCANNED_IN_STEP) &&
    longest !== "" &&
    isAscii(text) &&
    !text.includes(longest)
  );
}

/** The format has no way to say that the last line has no line end, so every update gives it one. */
function withLastLineEnded(text: string, file: TextLines): string {
  return text === "" || file.endsLine(text) ? text : text + (file.mainEol() || "\n");
}

type UnplacedHunk = Omit<HunkReport, "path" | "hunk" | "strategy" | "line">;

function placeHunk(...sought: Parameters<typeof seekPlace>): Placement | UnplacedHunk {
  const [{ budget }] = sought;
  const placed = seekPlace(...sought);
  // A search that was cut short does not know whether another place fits as well.
  return budget.left > 0 ? placed : { status: "refused", message: TOO_LARGE };
}

function seekPlace(
  target: MatchTarget,
  hunk: Hunk,
  rule: MatchRule,
  progress: MatchProgress,
  grown: number,
  mayShow: boolean,
): Placement | UnplacedHunk {
  if (target.budget.left <= 0) return { status: "refused" };
  const { lines } = hunk;
  const oldCount = countOld(lines);
  if (rule === "diff" && hunk.oldStart !== undefined) {
    const line = placeByNumber(target, hunk, hunk.oldStart, oldCount, progress, grown);
    const expected = hunk.oldStart <= 1 ? 0 : (hunk.newStart ?? hunk.oldStart) - 1 - grown;
    if (line >= 0) return unlessThere(target, hunk, { line, lines, strategy: "exact" }, progress, expected);
  }
  if (oldCount === 0) return placeWithoutContext(target, hunk, rule, progress);
  const sought = searchHunk(target, hunk, progress);
  if (sought.found === "one") return unlessThere(target, hunk, sought.placement, progress);
  if (sought.found === "many") {
    const shown = sought.lines.slice(0, 20).map((line) => line + 1);
    const at = shown.join(", ") + (sought.lines.length > shown.length ? ", …" : "");
    return {
      status: "ambiguous",
      candidates: matchingPlaces(target, sought.lines, oldCount),
      message: `matches ${sought.lines.length} places (lines ${at}); add lines around it that occur once`,
    };
  }
  const applied = findResult(target, lines);
  if (applied >= 0) return reportAlreadyApplied(applied);
  const within = rule === "search-replace" ? findWithinLines(target, hunk) : null;
  if (within !== null) return "there" in within ? reportAlreadyApplied(within.there) : within;
  const candidates = mayShow ? suggestPlaces(target, lines) : [];
  return {
    status: "not-found",
    message: "the expected lines are not in the file",
    ...(candidates.length > 0 ? { candidates } : {}),
  };
}

/** The placement, or that the file has its result already. */
function unlessThere(
  target: MatchTarget,
  hunk: Hunk,
  placement: Placement,
  progress: MatchProgress,
  expected?: number,
): Placement | UnplacedHunk {
  const there =
    countOld(hunk.lines) === 0
      ? isInsertedAt(target, placement.lines, placement.line)
        ? placement.line
        : -1
      : findOwnResult(target, hunk, placement, progress, expected);
  return there >= 0 ? reportAlreadyApplied(there) : placement;
}

/** As git does; but without context (`diff -U0`) git looks only at the end of the file, which may have an equal line by chance. */
function placeByNumber(
  target: MatchTarget,
  hunk: Hunk,
  oldStart: number,
  oldCount: number,
  progress: MatchProgress,
  grown: number,
): number {
  const old = oldText(hunk.lines);
  if (oldCount > 0 && !hunk.lines.some((line) => line.tag === " ")) {
    return matchesAsClaimed(target, hunk, old, oldCount, progress);
  }
  const line = gitPlace(target, hunk, old, oldCount, (hunk.newStart ?? oldStart) - 1 - grown);
  return oldCount > 0 || line >= oldStart ? line : -1;
}

function reportAlreadyApplied(line: number): UnplacedHunk {
  return {
    status: "already-applied",
    message: `the file has the result of this edit already, at line ${line + 1}: leave it out; if another place is meant, add the lines around it`,
  };
}

/** Only inserts, and does not describe the lines around it. */
function placeWithoutContext(
  target: MatchTarget,
  hunk: Hunk,
  rule: MatchRule,
  progress: MatchProgress,
): Placement | UnplacedHunk {
  const { file } = target;
  const at = (line: number, last: boolean): Placement => ({
    line,
    lines: hunk.lines,
    strategy: "exact",
    last,
  });
  if (file.count === 0) return at(0, true);
  if (rule === "v4a") {
    if (!hunk.anchors?.length) return unlessThere(target, hunk, at(file.count, true), progress);
    const anchors = anchorLines(target, hunk.anchors, progress.after).filter((line) =>
      target.free(line + 1, hunk.lines),
    );
    if (anchors.length === 1) return unlessThere(target, hunk, at(anchors[0]! + 1, false), progress);
    if (anchors.length > 1) {
      return {
        status: "ambiguous",
        candidates: matchingPlaces(target, anchors, 1),
        message: `the anchor matches ${anchors.length} lines`,
      };
    }
    return { status: "not-found", message: `the anchor is not in the file: ${hunk.anchors.at(-1)}` };
  }
  if (rule === "search-replace")
    return {
      status: "refused",
      message: "the file exists and is not empty, so an empty SEARCH has no place",
    };
  const message =
    "the hunk has no context lines and the file is not empty; add the lines around the insertion";
  return { status: "refused", message };
}

/** The changes of a placed hunk, runs of lines joined. */
function pushSplices(splices: Splice[], placed: Placement, rule: MatchRule, file: TextLines): void {
  let at = placed.line;
  let from = at;
  let insert: InsertedLine[] = [];
  const asWritten = placed.strategy === "exact" && rule === "diff";
  const opensEnd = placed.lines.some((line) => line.tag !== "+" && line.eol === "");
  const flush = () => {
    if (at > from || insert.length > 0)
      splices.push({ at: from, remove: at - from, insert, last: placed.last ?? false });
    insert = [];
  };
  for (const line of placed.lines) {
    if (line.tag === " ") {
      flush();
      from = ++at;
    } else if (line.tag === "-") at++;
    else
      insert.push({
        text: placed.reindent?.(line.text) ?? line.text,
        eol: eolFor(line, asWritten, opensEnd, file),
      });
  }
  flush();
}

/** As written for an exact diff; else the neighbours', unless the hunk speaks about the end of the file. */
function eolFor(line: HunkLine, asWritten: boolean, opensEnd: boolean, file: TextLines): string | null {
  if (asWritten) return line.eol;
  if (line.eol === "") return "";
  return opensEnd ? file.mainEol() || line.eol : null;
}

const SPACE = 32;
const PLUS = 43;

/**
 * The common diff: its hunks are in order, and each matches byte for byte where its header says. Walks file and hunks in
 * parallel, without an index of the lines. Null in every other case, even if the diff fits: then the search decides, and it
 * would have given the same result here.
 */
export function applyAsClaimed(path: string, text: string, hunks: readonly Hunk[]) {
  if (text.startsWith(BOM)) return null;
  /** The new text, in pieces. */
  const parts: string[] = [];
  const reports: HunkReport[] = [];
  let kept = 0;
  let offset = 0;
  let line = 0;
  let grown = 0;
  for (const { written, oldStart, newStart } of hunks) {
    if (written === undefined || oldStart === undefined) return null;
    const claimed = oldStart <= 1 ? 0 : (newStart ?? oldStart) - 1 - grown;
    if (claimed < line) return null;
    for (; line < claimed; line++) {
      offset = text.indexOf("\n", offset) + 1;
      if (offset === 0) return null;
    }
    let hasContext = false;
    let tag = 0;
    /** How far the file is also what the hunk makes; -1 once it is not. */
    let made = offset;
    for (let at = 0; at < written.length; ) {
      const end = written.indexOf("\n", at) + 1;
      const own = written.slice(at + 1, end);
      tag = written.charCodeAt(at);
      at = end;
      if (tag === PLUS) {
        if (made >= 0) made = text.startsWith(own, made) ? made + own.length : -1;
        if (kept < offset) parts.push(text.slice(kept, offset));
        parts.push(own);
        kept = offset;
        grown++;
        continue;
      }
      if (!text.startsWith(own, offset)) return null;
      if (tag === SPACE) {
        hasContext = true;
        if (made >= 0) made = made === offset || text.startsWith(own, made) ? made + own.length : -1;
      } else {
        if (kept < offset) parts.push(text.slice(kept, offset));
        kept = offset + own.length;
        grown--;
      }
      offset += own.length;
      line++;
    }
    // Without context around it a hunk is sought; without context after it, it belongs at the end. If its result
    // is there as well, the search decides.
    if (!hasContext || made >= 0 || (tag !== SPACE && offset !== text.length)) return null;
    reports.push({ path, hunk: reports.length + 1, status: "applied", strategy: "exact", line: claimed + 1 });
  }
  parts.push(text.slice(kept));
  return { parts, reports };
}

/** Applies hunks to a file's bytes. UTF-16 with a mark is edited as text when its bytes as such do not match. */
export function editFile(
  path: string,
  bytes: Uint8Array,
  hunks: readonly Hunk[],
  rule: MatchRule,
  matching: Matching,
) {
  const wide = readWideText(bytes);
  if (wide !== null) {
    const done = applyHunks(path, wide.text, hunks, rule, matching);
    if (done.ok || isThere(done.reports))
      return { ok: done.ok, bytes: done.ok ? wide.encode(done.text) : bytes, reports: done.reports };
    const raw = applyHunks(path, matching.readText(bytes), hunks, rule, matching);
    return raw.ok
      ? { ok: true, bytes: fromBytesText(raw.text), reports: raw.reports }
      : { ok: false, bytes, reports: done.reports };
  }
  const text = matching.readText(bytes);
  const claimed = rule === "diff" && matching.budget.left > 0 ? applyAsClaimed(path, text, hunks) : null;
  if (claimed !== null) return { ok: true, bytes: joinBytes(claimed.parts), reports: claimed.reports };
  const done = applyHunks(path, text, hunks, rule, matching);
  return { ok: done.ok, bytes: done.ok ? fromBytesText(done.text) : bytes, reports: done.reports };
}

/** The text of a UTF-16 file with a mark, and its encoder; null for any other file, and if the bytes would not survive the round trip. */
function readWideText(bytes: Uint8Array) {
  const little = bytes[0] === 0xff && bytes[1] === 0xfe;
  const big = bytes[0] === 0xfe && bytes[1] === 0xff;
  if ((!little && !big) || bytes.length % 2 !== 0) return null;
  const encode = (text: string): Uint8Array => {
    const out = Buffer.from(`\ufeff${Buffer.from(fromBytesText(text)).toString("utf8")}`, "utf16le");
    return big ? out.swap16() : out;
  };
  const copy = Buffer.from(bytes.slice(2));
  const text = toBytesText((big ? copy.swap16() : copy).toString("utf16le"));
  return Buffer.compare(encode(text), bytes) === 0 ? { text, encode } : null;
}
