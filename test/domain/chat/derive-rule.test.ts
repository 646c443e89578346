import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileRules, deriveRule, matchRules } from "../../../src/domain/chat/routing-rules.ts";
import { runs } from "../../require.ts";

test.each([
  ["utils.ts の様子がなんか変", "の様子がなんか変", "main.ts の様子がなんか変"],
  ["「ホーム」の見出しを太く", "の見出しを太く", "「設定」の見出しを太く"],
  ["please spruce up src/app.ts a little", "spruce up.{0,40}a little", "please spruce up lib/x.py a little"],
  ["(1+1)を計算機で見せて", "を計算機で見せて", "(2+2)を計算機で見せて"],
])("%p teaches %p, which holds for its like", (message, pattern, alike) => {
  const rule = deriveRule(message, "CODE");
  expect(rule?.pattern).toContain(pattern.slice(-6));
  const { rules, problems } = compileRules([rule!], "learned", () => performance.now());
  expect(problems).toEqual([]);
  expect(matchRules(rules, alike)).not.toBeNull();
  expect(matchRules(rules, "こんにちは")).toBeNull();
});

test.each([
  "",
  "ok",
  "あれ",
  "12345",
  "```code```",
  "don't do that",
  "それはしないで",
  "https://example.com/a/b",
])("%p is too little to learn from", (message) => {
  expect(deriveRule(message, "CODE")).toBeNull();
});

test("for any message, the learned rule is safe and matches what it was learned from", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ maxLength: 200 }),
        fc.string({ unit: fc.constantFrom(..."(a|b)+*.{}[]^$\\ あ漢字直して/「」"), maxLength: 60 }),
      ),
      (message) => {
        const rule = deriveRule(message, "OPS");
        if (rule === null) return;
        expect(compileRules([rule], "learned", () => performance.now()).problems).toEqual([]);
      },
    ),
    { numRuns: runs(300) },
  );
});
