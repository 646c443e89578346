import type { Hunk } from "./patch-command.ts";
import { lineKey } from "./target-lines.ts";
import type { MatchTarget } from "./target.ts";
import { trimBlank } from "./white-space.ts";

/** Where in the file the hunks have come to. */
export interface MatchProgress {
  /** First line after the hunk placed last. */
  readonly after: number;
  /** How far the hunk placed last stood from where it claimed to. */
  readonly offset: number;
}

/** Picks one of several places at which a hunk matches, or -1. Line numbers and anchors break ties; nothing guesses. */
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
  const lines = target.file.lines();
  for (let i = from; i < lines.length; i++) if (trimBlank(lines[i]!) !== "") return false;
  return true;
}

/** The nearer one; of two equally near the later one, as git does. */
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
