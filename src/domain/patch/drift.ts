import type { HunkLine } from "./patch-command.ts";
import { findReindent, type Reindent } from "./indent.ts";
import { lineKey } from "./target-lines.ts";
import type { MatchTarget } from "./target.ts";
import { spendBudget } from "./work-budget.ts";

/**
 * The last rung: the context has changed since the edit was written. Every deleted line must still stand there, in
 * one piece with the others, modulo white space and look-alikes; of the context at least half must match. An edit
 * that deletes nothing needs the lines on both sides of what it inserts, next to each other, and most of the rest.
 */
export interface DriftPlace {
  /** The line at which `lines` start: the hunk without its outer context. */
  readonly line: number;
  readonly lines: readonly HunkLine[];
  readonly reindent: Reindent;
}

const SIGNIFICANT = /[\w\x80-\xff][\s\S]*[\w\x80-\xff]/;

export function findDrifted(target: MatchTarget, lines: readonly HunkLine[]): DriftPlace[] {
  const core = driftCore(lines);
  if (core === null) return [];
  const old = lines.filter((line) => line.tag !== "+");
  const oldKeys = old.map((line) => lineKey("indent", line.text));
  const must = mustMatch(core, old.length);
  if (!must.some((i) => SIGNIFICANT.test(oldKeys[i]!))) return [];
  const contextCount = old.filter((line, i) => line.tag === " " && oldKeys[i] !== "").length;
  if (contextCount === 0) return [];
  const keys = target.index.keys("indent");
  const found: DriftPlace[] = [];
  for (const start of startsOf(target, oldKeys, must)) {
    if (!spendBudget(target.budget, old.length)) break;
    if (!must.every((i) => keys[start + i] === oldKeys[i])) continue;
    const matched = old.filter(
      (line, i) => line.tag === " " && oldKeys[i] !== "" && isNear(keys, start + i, oldKeys[i]!),
    );
    if (matched.length * 2 < contextCount) continue;
    const place = toDriftPlace(target, core, old, oldKeys, start);
    if (place !== null) found.push(place);
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

/** The hunk from its first changed line to its last. */
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

/** Places of the rarest line that must match, as starts of the whole hunk. */
function startsOf(target: MatchTarget, oldKeys: readonly string[], must: readonly number[]): number[] {
  let best: readonly number[] | null = null;
  let at = 0;
  for (const i of must) {
    const places = target.index.places("indent", oldKeys[i]!);
    if (best === null || places.length < best.length) {
      best = places;
      at = i;
    }
  }
  return (best ?? []).map((place) => place - at);
}

/** Context counts where it stands up to three lines away. */
function isNear(keys: readonly string[], line: number, key: string): boolean {
  for (let away = -3; away <= 3; away++) if (keys[line + away] === key) return true;
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
  const keys = index.keys("indent");
  const texts = file.lines();
  const pairs: [string, string][] = [];
  old.forEach((line, i) => {
    if (keys[start + i] === oldKeys[i] && oldKeys[i] !== "") pairs.push([line.text, texts[start + i]!]);
  });
  const reindent = findReindent(pairs);
  return reindent === null ? null : { line: start + core.first, lines: core.lines, reindent };
}
