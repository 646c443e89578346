import { expect, test } from "bun:test";
import fc from "fast-check";
import { stitchAnswers } from "../../../src/application/models/complete.ts";

const WHOLE =
  "## Plan\nAdd a function that sums.\n## Patch\n```ts:src/sum.ts\nexport const sum = (a: number, b: number) => a + b;\n```\n## Risk\nlow\n";

test("a continuation continues where the answer was cut", () => {
  for (let at = 1; at < WHOLE.length; at++)
    if (!/\s/.test(WHOLE[at - 1] as string))
      expect(stitchAnswers(WHOLE.slice(0, at), WHOLE.slice(at))).toBe(WHOLE);
});

test("what it repeats of the last line, or of the last lines, is left out", () => {
  const cut = WHOLE.indexOf("b: number");
  const line = WHOLE.lastIndexOf("\n", cut) + 1;
  expect(stitchAnswers(WHOLE.slice(0, cut), WHOLE.slice(line))).toBe(WHOLE);
  expect(stitchAnswers(WHOLE.slice(0, cut), WHOLE.slice(line - 20))).toBe(WHOLE);
});

test("a fence that it opens again is not part of the file", () => {
  const cut = WHOLE.indexOf("(a: number");
  expect(stitchAnswers(WHOLE.slice(0, cut), `\`\`\`ts\n${WHOLE.slice(cut)}`)).toBe(WHOLE);
});

test("a fence that closes stays", () => {
  const cut = WHOLE.indexOf("```\n## Risk");
  expect(stitchAnswers(WHOLE.slice(0, cut), WHOLE.slice(cut))).toBe(WHOLE);
});

test("an answer that starts over replaces the first", () => {
  expect(stitchAnswers(WHOLE.slice(0, 80), WHOLE)).toBe(WHOLE);
});

test("nothing of either is lost but what both have", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (head, tail) => {
      const whole = stitchAnswers(head, tail);
      expect(whole.startsWith(head)).toBe(true);
      expect(tail.endsWith(whole.slice(head.length))).toBe(true);
    }),
  );
});
