import { findCatastrophe } from "./rule-pattern.ts";
import { splitClauses } from "./routing-rules.ts";
import type { Route } from "../config/route.ts";
import type { Rule } from "./rule.ts";
import { compileTrustedRule, matchRules } from "./rule-dictionary.ts";

/** What differs from message to message: names of files, code, addresses, numbers, quotations. */
const PARTICULAR =
  /⟦(?:code|url)⟧|[「『"“][^」』"”]{1,60}[」』"”]|[\w@~.-]*[/\\][\w@/\\.~-]+|\b[\w-]+\.[a-z]{1,5}\b|\b[a-z]+[A-Z]\w*\b|\b\w*_\w+\b|[0-9]+/gu;
const PATTERN_GAP = ".{0,40}";
const MOST_GAPS = 2;
const LONGEST_RULE = 60;
/** Fewer letters than this would match too much. */
const FEWEST_WIDE = 3;
const FEWEST_NARROW = 8;
const LEARNED_CONFIDENCE = 0.95;

/**
 * A rule that matches this message and ones like it: its first clause that asks for something, word by word, with
 * gaps for what differs. Null when nothing is left that is special enough. Every character is taken literally.
 */
export function deriveRule(message: string, route: Route): Rule | null {
  const clause = splitClauses(message).find(({ text, negated }) => !negated && isSpecial(text));
  if (clause === undefined) return null;
  const literal = clause.text.replace(/[。．.!?！？、,\s]+$/u, "").slice(0, LONGEST_RULE);
  const pieces = literal
    .split(PARTICULAR)
    .map((piece) => piece.trim())
    .slice(0, MOST_GAPS + 1);
  while (pieces[0] === "") pieces.shift();
  while (pieces.at(-1) === "") pieces.pop();
  if (!isSpecial(pieces.join(""))) return null;
  const pattern = pieces
    .map(escapePattern)
    .join(PATTERN_GAP)
    .replaceAll(`${PATTERN_GAP}${PATTERN_GAP}`, PATTERN_GAP);
  const rule: Rule = { pattern, route, confidence: LEARNED_CONFIDENCE, match: [message] };
  if (
    findCatastrophe(pattern) !== null ||
    matchRules([compileTrustedRule(rule, "learned")], message) === null
  )
    return null;
  return rule;
}

function isSpecial(text: string): boolean {
  const wide = [...text].filter((char) => char > "\u2e7f").length;
  const narrow = text.replace(/[^a-z]/giu, "").length;
  return wide >= FEWEST_WIDE || narrow >= FEWEST_NARROW;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&").replace(/\s+/gu, " ");
}
