import type { Hunk, HunkLine, MatchStrategy } from "./patch-command.ts";
import { isAscii } from "./patch-text.ts";
import { findDrifted } from "./drift.ts";
import { findExact, matchesAsClaimed, oldText } from "./exact.ts";
import { findReindent, type Reindent } from "./indent.ts";
import { type KeyRung, lineKey } from "./target-lines.ts";
import type { MatchTarget } from "./target.ts";
import { breakTie, type MatchProgress } from "./tie-break.ts";
import { trimBlank } from "./white-space.ts";

/** Where a hunk goes, and how its lines are to be read there. */
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
    const sought = searchReading(target, { ...hunk, lines }, progress);
    if (sought.found !== "none") return sought;
  }
  const drifted = findDrifted(target, hunk.lines).filter((place) => target.free(place.line, place.lines));
  if (drifted.length > 1) return { found: "many", lines: drifted.map((place) => place.line) };
  return drifted[0] ? { found: "one", placement: { ...drifted[0], strategy: "drift" } } : NOT_FOUND;
}

function searchReading(target: MatchTarget, hunk: Hunk, progress: MatchProgress): HunkSearch {
  const old = hunk.lines.filter((line) => line.tag !== "+");
  if (old.length === 0) return NOT_FOUND;
  const text = oldText(hunk.lines);
  const claimed = matchesAsClaimed(target, hunk, text, old.length, progress);
  const places = claimed < 0 ? findExact(target, text) : [claimed];
  const exact = settleMatches(target, hunk, places, "exact", progress);
  if (exact.found !== "none") return exact;
  const ascii = target.isAscii() && old.every((line) => isAscii(line.text));
  for (const rung of ["whitespace", "look-alike", "indent"] as const) {
    if (rung === "look-alike" && ascii) continue;
    const pattern = old.map((line) => lineKey(rung, line.text));
    if (pattern.every((key) => trimBlank(key) === "")) return NOT_FOUND;
    const found = target.index.findAll(rung, pattern, target.budget);
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
  const texts = target.file.lines();
  return findReindent(old.map((oldLine, i) => [oldLine.text, texts[line + i]!] as const));
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
