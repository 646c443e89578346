import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "yaml";
import { findNeededWords } from "../../scripts/needed-words.ts";
import { normalPattern, type Rule } from "../../src/domain/chat/rule-pattern.ts";

const { rules } = parse(
  readFileSync(join(import.meta.dir, "../../src/domain/chat/rules.yaml"), "utf8"),
) as { rules: readonly Rule[] };

test("words are found through groups, alternatives, repetitions and escapes", () => {
  const cases: readonly (readonly [pattern: string, words: readonly string[] | null])[] = [
    ["fix|Repair", ["fix", "repair"]],
    ["(?:fix|mend) it", ["fix", "mend"]],
    ["stack ?trace", ["stack"]],
    ["(?:please )?stop", ["stop"]],
    ["(?:ab){2,3}c", ["ab"]],
    ["(?:ab){0,3}c", ["c"]],
    ["a(?!long)b\\.c", ["b.c"]],
    ["[a-z]+|fix", null],
    ["\\w\\bfix", ["fix"]],
    [".{0,9}", null],
  ];
  for (const [pattern, words] of cases) expect([pattern, findNeededWords(pattern)]).toEqual([pattern, words]);
});

test("what a shipped rule matches contains one of the words that it needs", () => {
  const examples = rules.flatMap(({ match = [], not_match = [] }) => [...match, ...not_match]);
  expect(examples.length).toBeGreaterThan(100);
  const patterns = rules.map(({ pattern }) => normalPattern(pattern));
  const holds = (pattern: string, text: string) => {
    const words = findNeededWords(pattern);
    if (words === null || !new RegExp(pattern, "iu").test(text)) return;
    expect([pattern, text, words.some((word) => text.toLowerCase().includes(word))]).toEqual([
      pattern,
      text,
      true,
    ]);
  };
  for (const pattern of patterns) for (const text of examples) holds(pattern, text.normalize("NFKC"));
  fc.assert(
    fc.property(
      fc.constantFrom(...patterns).chain((pattern) => fc.tuple(fc.constant(pattern), textLike(pattern))),
      ([pattern, text]) => holds(pattern, text),
    ),
    { numRuns: 300 },
  );
});

/** Texts near a match: pieces of the pattern itself in some order and case. */
function textLike(pattern: string): fc.Arbitrary<string> {
  const pieces = pattern.split(/[^\p{L}\p{N}' ]+/u).filter((piece) => piece !== "");
  return fc
    .array(fc.tuple(fc.constantFrom(...pieces, " "), fc.boolean()), { maxLength: 6 })
    .map((chosen) => chosen.map(([piece, big]) => (big ? piece.toUpperCase() : piece)).join(""));
}
