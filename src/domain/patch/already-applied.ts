import type { HunkLine } from "./patch-command.ts";
import { lineKey } from "./target-lines.ts";
import type { MatchTarget } from "./target.ts";

/** Enough letters to say that a text stands there on purpose. */
function isTelling(lines: readonly HunkLine[]): boolean {
  let letters = 0;
  for (const line of lines) letters += line.text.replace(/[^\w\x80-\xff]/g, "").length;
  return letters >= 3;
}

function newKeys(lines: readonly HunkLine[]): string[] {
  return lines.filter((line) => line.tag !== "-").map((line) => lineKey("whitespace", line.text));
}

/** The line at which the result of a hunk whose old text is gone already stands, or -1. */
export function findApplied(target: MatchTarget, lines: readonly HunkLine[]): number {
  const added = lines.filter((line) => line.tag === "+");
  const first = lines[0]?.tag;
  const last = lines.at(-1)?.tag;
  const telling = added.length > 0 ? isTelling(added) : first === " " && last === " " && isTelling(lines);
  if (!telling) return -1;
  const pattern = newKeys(lines);
  return target.index.findAll("whitespace", pattern, target.budget)[0] ?? -1;
}

/**
 * A hunk that only inserts matches again after it was applied. True when what it inserts stands already where it
 * would go, so that the same edit is not made twice.
 */
export function insertsTwice(target: MatchTarget, lines: readonly HunkLine[], line: number): boolean {
  const added = lines.filter((each) => each.tag === "+");
  if (added.length === 0 || !isTelling(added) || lines.some((each) => each.tag === "-")) return false;
  const keys = target.index.keys("whitespace");
  const pattern = newKeys(lines);
  const oldCount = lines.length - added.length;
  return matchesAt(keys, pattern, line) || matchesAt(keys, pattern, line + oldCount - pattern.length);
}

function matchesAt(keys: readonly string[], pattern: readonly string[], line: number): boolean {
  return line >= 0 && pattern.every((key, i) => keys[line + i] === key);
}
