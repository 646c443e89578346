import type { Hunk, HunkLine, HunkReport } from "./patch-command.ts";
import { findApplied, insertsTwice } from "./already-applied.ts";
import { BOM } from "./patch-text.ts";
import { composeText, type InsertedLine, type Splice } from "./compose.ts";
import { gitPlace, matchesAsClaimed, oldText } from "./exact.ts";
import { type Placement, searchHunk } from "./match-hunk.ts";
import { matchingPlaces, suggestPlaces } from "./suggest.ts";
import { MatchTarget } from "./target.ts";
import { TextLines } from "./text-lines.ts";
import { anchorLines, type MatchProgress } from "./tie-break.ts";
import type { WorkBudget } from "./work-budget.ts";

/** Whose habits hold: git's for diffs (bytes as written, claimed lines), ours for the formats of models. */
export type MatchRule = "diff" | "v4a" | "search-replace";

export interface HunksApplied {
  readonly ok: boolean;
  /** The new text; the old one where `ok` is false. */
  readonly text: string;
  readonly reports: readonly HunkReport[];
}

const MAX_SUGGESTIONS = 10;

/** Applies all hunks to a bytes text, or none. Hunks are placed on the lines the text had before the edit. */
export function applyHunks(
  path: string,
  text: string,
  hunks: readonly Hunk[],
  rule: MatchRule,
  budget: WorkBudget,
): HunksApplied {
  const bom = text.startsWith(BOM) && !mentionsBom(hunks) ? BOM : "";
  const body = bom === "" ? text : text.slice(BOM.length);
  let done = applyToLines(path, new TextLines(body), hunks, rule, budget);
  if (!done.ok && /\r(?!\n)/.test(body)) {
    const again = applyToLines(path, new TextLines(body, { loneCr: true }), hunks, rule, budget);
    if (again.ok) done = again;
  }
  return done.ok ? { ...done, text: bom + done.text } : { ...done, text };
}

function mentionsBom(hunks: readonly Hunk[]): boolean {
  return hunks.some((hunk) => hunk.lines.some((line) => line.text.startsWith(BOM)));
}

function applyToLines(
  path: string,
  file: TextLines,
  hunks: readonly Hunk[],
  rule: MatchRule,
  budget: WorkBudget,
): HunksApplied {
  const target = new MatchTarget(file, budget);
  const splices: Splice[] = [];
  const reports: HunkReport[] = [];
  let failed = 0;
  let grown = 0;
  let progress: MatchProgress = { after: 0, offset: 0 };
  hunks.forEach((hunk, i) => {
    const placed = placeHunk(target, hunk, rule, progress, grown, failed < MAX_SUGGESTIONS);
    if (!("line" in placed)) {
      failed++;
      reports.push({ path, hunk: i + 1, ...placed });
      return;
    }
    const { line, lines, strategy } = placed;
    reports.push({ path, hunk: i + 1, status: "applied", strategy, line: line + 1 });
    pushSplices(splices, placed, rule, file);
    // What is put at the end of the file says nothing of where the next hunk stands.
    if (placed.last) return;
    target.take(line, lines);
    const oldCount = lines.reduce((count, each) => count + (each.tag === "+" ? 0 : 1), 0);
    grown += lines.length - oldCount - lines.reduce((count, each) => count + (each.tag === "-" ? 1 : 0), 0);
    progress = {
      after: line + oldCount,
      offset: hunk.oldStart === undefined ? 0 : line - (hunk.oldStart - 1),
    };
  });
  if (failed > 0) return { ok: false, text: file.text, reports };
  const text = composeText(file, splices);
  return { ok: true, text: rule === "v4a" ? withLastLineEnded(text, file) : text, reports };
}

/** The format has no way to say that the last line has no line end, so every update gives it one. */
function withLastLineEnded(text: string, file: TextLines): string {
  return text === "" || file.endsLine(text) ? text : text + (file.mainEol() || "\n");
}

type UnplacedHunk = Omit<HunkReport, "path" | "hunk" | "strategy" | "line">;

function placeHunk(
  target: MatchTarget,
  hunk: Hunk,
  rule: MatchRule,
  progress: MatchProgress,
  grown: number,
  mayShow: boolean,
): Placement | UnplacedHunk {
  if (target.budget.left <= 0)
    return { status: "refused", message: "the edit repeats too much text to be placed in reasonable time" };
  const { lines } = hunk;
  const oldCount = lines.reduce((count, line) => count + (line.tag === "+" ? 0 : 1), 0);
  if (rule === "diff" && hunk.oldStart !== undefined) {
    const line = placeByNumber(target, hunk, hunk.oldStart, oldCount, progress, grown);
    if (line >= 0) return { line, lines, strategy: "exact" };
  }
  if (oldCount === 0) return placeWithoutContext(target, hunk, rule, progress);
  const sought = searchHunk(target, hunk, progress);
  if (sought.found === "one") {
    const { placement } = sought;
    if (insertsTwice(target, placement.lines, placement.line)) return reportAlreadyApplied(placement.line);
    return placement;
  }
  if (sought.found === "many") {
    const shown = sought.lines.slice(0, 20).map((line) => line + 1);
    const at = shown.join(", ") + (sought.lines.length > shown.length ? ", …" : "");
    return {
      status: "ambiguous",
      candidates: matchingPlaces(target, sought.lines, oldCount),
      message: `matches ${sought.lines.length} places (lines ${at}); add lines around it that occur once`,
    };
  }
  const applied = findApplied(target, lines);
  if (applied >= 0) return reportAlreadyApplied(applied);
  const candidates = mayShow ? suggestPlaces(target, lines) : [];
  return {
    status: "not-found",
    message: "the expected lines are not in the file",
    ...(candidates.length > 0 ? { candidates } : {}),
  };
}

/**
 * As git does, but for a hunk without any context (`diff -U0`): git would only look at the end of the file, which
 * may hold an equal line by chance. Such a hunk stands at its claimed line or is sought like any other.
 */
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
    message: `the result of this hunk stands already at line ${line + 1}; do not send it again`,
  };
}

/** Only inserts, and says nothing of what stands around it. */
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
    if (hunk.anchors === undefined || hunk.anchors.length === 0) return at(file.count, true);
    const anchors = anchorLines(target, hunk.anchors, progress.after).filter((line) =>
      target.free(line + 1, hunk.lines),
    );
    if (anchors.length === 1) return at(anchors[0]! + 1, false);
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
  return {
    status: "refused",
    message: "the hunk has no context lines and the file is not empty; add the lines around the insertion",
  };
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
