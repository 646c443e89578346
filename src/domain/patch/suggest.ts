import type { HunkLine, MatchCandidate } from "./patch-command.ts";
import { readableText } from "./patch-text.ts";
import { lineKey } from "./target-lines.ts";
import type { MatchTarget } from "./target.ts";
import { spendBudget } from "./work-budget.ts";

/**
 * Did you mean: the places that share most with a hunk that was not found. Lines in common vote for a place; where
 * none is in common, the longest line is compared by letter pairs. Only shown, never written. Bounded: common
 * lines do not vote, and at most some thousand lines are compared.
 */
const MAX_CANDIDATES = 3;
const MAX_VOTES_PER_LINE = 50;
const MAX_COMPARED_LINES = 5_000;
const MAX_LINE = 200;
const SHOWN_LINES = 12;
const WORTH_SHOWING = 0.4;

export function suggestPlaces(target: MatchTarget, lines: readonly HunkLine[]): MatchCandidate[] {
  const old = lines.filter((line) => line.tag !== "+").slice(0, 400);
  const oldKeys = old.map((line) => lineKey("indent", line.text));
  if (oldKeys.every((key) => key === "") || target.file.count === 0) return [];
  const starts = votedPlaces(target, oldKeys);
  const candidates = (starts.length > 0 ? starts : resembling(target, oldKeys)).map((start) => {
    const line = Math.max(0, start);
    const similarity = similarityAt(target, oldKeys, start);
    return { line: line + 1, text: showCandidate(target, line, old.length), similarity };
  });
  return candidates
    .filter((candidate) => candidate.similarity >= WORTH_SHOWING)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, MAX_CANDIDATES);
}

/** Where an ambiguous hunk matches. */
export function matchingPlaces(
  target: MatchTarget,
  places: readonly number[],
  count: number,
): MatchCandidate[] {
  return places
    .slice(0, 5)
    .map((line) => ({
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
  spendBudget(target.budget, votes.size);
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
  if (!spendBudget(target.budget, keys.length * 20)) return [];
  const wanted = pairsOf(oldKeys[longest]!);
  return keys
    .map((key, line) => ({ line, score: likeness(wanted, key) }))
    .filter(({ score }) => score >= WORTH_SHOWING)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_CANDIDATES)
    .map(({ line }) => line - longest);
}

function similarityAt(target: MatchTarget, oldKeys: readonly string[], start: number): number {
  const keys = target.index.keys("indent");
  let sum = 0;
  for (let i = 0; i < oldKeys.length; i++) {
    const key = keys[start + i];
    if (key === oldKeys[i]) sum += 1;
    else if (key !== undefined && spendBudget(target.budget, 20)) sum += likeness(pairsOf(oldKeys[i]!), key);
  }
  return Math.round((sum / oldKeys.length) * 100) / 100;
}

/** Dice's coefficient over letter pairs: 0 nothing in common, 1 the same pairs. */
function likeness(pairs: ReadonlyMap<string, number>, text: string): number {
  const left = new Map(pairs);
  const size = [...pairs.values()].reduce((sum, count) => sum + count, 0);
  const other = text.slice(0, MAX_LINE);
  if (size === 0 || other.length < 2) return 0;
  let shared = 0;
  for (let i = 0; i + 1 < other.length; i++) {
    const pair = other.slice(i, i + 2);
    const count = left.get(pair) ?? 0;
    if (count > 0) {
      shared++;
      left.set(pair, count - 1);
    }
  }
  return (2 * shared) / (size + other.length - 1);
}

function pairsOf(text: string): Map<string, number> {
  const pairs = new Map<string, number>();
  const cut = text.slice(0, MAX_LINE);
  for (let i = 0; i + 1 < cut.length; i++) {
    const pair = cut.slice(i, i + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}
