import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "yaml";
import { findNeededWords } from "../../scripts/needed-words.ts";
import { normalPattern, type Rule } from "../../src/domain/chat/rule-pattern.ts";

const { rules } = parse(readFileSync(join(import.meta.dir, "../../src/domain/chat/rules.yaml"), "utf8")) as {
  rules: readonly Rule[];
};

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
  const compiled = rules.map(({ pattern: given }) => {
    const pattern = normalPattern(given);
    return { pattern, regex: new RegExp(pattern, "iu"), words: findNeededWords(pattern) };
  });
  type Compiled = (typeof compiled)[number];
  const isSound = ({ regex, words }: Compiled, text: string) =>
    words === null || words.some((word) => text.toLowerCase().includes(word)) || !regex.test(text);
  const missed = compiled.flatMap((rule) =>
    examples.filter((text) => !isSound(rule, text.normalize("NFKC"))).map((text) => [rule.pattern, text]),
  );
  expect(missed).toEqual([]);
  fc.assert(
    fc.property(
      fc.constantFrom(...compiled).chain((rule) => fc.tuple(fc.constant(rule), textLike(rule.pattern))),
      ([rule, text]) => isSound(rule, text),
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
