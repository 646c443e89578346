/** A pattern over a line finds what JavaScript finds, in steps that grow with the line. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileLinePattern, PatternRefused } from "../../../src/domain/platform/line-pattern.ts";
import { cases } from "../../require.ts";

const PIECES = [
  "a",
  "b",
  "ab",
  ".",
  "\\w",
  "\\d",
  "[a-c]",
  "[^a]",
  "\\b",
  "\\B",
  "^",
  "$",
  "\\s",
  "é",
  "😀",
  "[b\\]]",
];
const piece = fc.constantFrom(...PIECES, "\\.", "\\x61", "\\u0062", "-", "A");
const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    piece,
    piece,
    fc.tuple(fc.constantFrom("(", "(?:", "(?<n>"), tie("pattern")).map(([open, inner]) => `${open}${inner})`),
    fc
      .tuple(
        fc.constantFrom("a", ".", "[ab]", "\\w"),
        fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"),
      )
      .map((both) => both.join("")),
    fc
      .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{0,2}"))
      .map(([inner, many]) => `(?:${inner})${many}`),
  ),
  pattern: fc
    .array(
      fc.array(tie("part"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
      { minLength: 1, maxLength: 2 },
    )
    .map((all) => all.join("|")),
}));
const line = fc.array(fc.constantFrom("a", "b", "a", "b", "c", " ", "1", "-", "A", "é", "😀", "]", "."), {
  maxLength: 9,
});

test("of random patterns and lines, the first match begins where JavaScript's does, by the runtime and by states", () => {
  const property = fc.property(pattern, line, fc.constantFrom("u", "iu", "", "i"), (source, chars, flags) => {
    let regExp: RegExp;
    try {
      regExp = new RegExp(source, flags);
    } catch {
      return;
    }
    const text = chars.join("");
    for (const ofRuntime of [1_000_000, 0]) {
      const found = compileLinePattern(source, flags, { steps: 0, ofRuntime }).indexIn(text);
      expect([source, flags, text, found]).toEqual([source, flags, text, text.search(regExp)]);
    }
  });
  fc.assert(property, { numRuns: cases(1500) });
});

const HARD = [
  "(a+)+b",
  "(a*)*b",
  "(a|a)*b",
  "(a|aa)+$b",
  "a*a*a*a*a*b",
  "(?:a.*)*b",
  ".*.*.*=.*",
  "(\\w+\\s?)*c",
  "^(([a-z])+.)+[A-Z]",
  "a{1,30}a{1,30}b",
];

test.each(HARD)("%s takes steps that grow with the line", (source) => {
  const stepsOf = (chars: number) => {
    const work = { steps: 0, ofRuntime: 1_000_000 };
    expect(compileLinePattern(source, "u", work).indexIn("a".repeat(chars))).toBe(-1);
    return work.steps;
  };
  const [half, whole] = [stepsOf(4_000), stepsOf(8_000)];
  expect(whole).toBeLessThan(2.5 * half);
  expect(whole).toBeLessThan(8_000 * 200);
});

test("what needs more than the states of a line is refused, and what is no pattern is an error", () => {
  for (const source of [
    "a(?=b)",
    "(?!a)",
    "(?<=a)b",
    "(?<!a)b",
    "(a)\\1",
    "(?<n>a)\\k<n>",
    "(?:a{99}){99}",
    "a".repeat(2_001),
  ])
    expect(() => compileLinePattern(source, "u")).toThrow(PatternRefused);
  expect(() => compileLinePattern("(", "u")).toThrow(SyntaxError);
});
