import { expect, test } from "bun:test";
import { type ChecksFacts, notChecked } from "../../../src/domain/checks/verdict.ts";
import { checksMessagesFor } from "../../../src/domain/texts/checks.ts";

const green: ChecksFacts = {
  ...notChecked("no-checks"),
  commands: ["npm test"],
  notChecked: null,
  verdict: "same",
  counts: { passed: 426, failed: 0, skipped: 0 },
};
const CASES: readonly [ChecksFacts, en: string, ja: string][] = [
  [
    { ...green, verdict: "better", mended: ["a", "b", "c"] },
    "npm test: 426 passed (3 fixed)",
    "npm test: 426 件成功（3 件修復）",
  ],
  [{ ...green, counts: null }, "npm test: green", "npm test: 成功"],
  [
    { ...green, verdict: "worse", worse: ["a"], counts: { passed: 5, failed: 1, skipped: 2 } },
    "npm test: 5 passed, 1 failed, 2 skipped, 1 worse",
    "npm test: 5 件成功、1 件失敗、2 件スキップ、1 件悪化",
  ],
  [
    notChecked("documentation"),
    "not checked: only documentation was changed",
    "チェックなし: 文書だけの変更です",
  ],
];

test("the line about checks, in both languages", () => {
  for (const [facts, en, ja] of CASES) {
    expect(checksMessagesFor("en").line(facts)).toBe(en);
    expect(checksMessagesFor("ja").line(facts)).toBe(ja);
  }
});

test("weakened tests, flaky checks and the names of what is worse are said", () => {
  const facts = {
    ...green,
    worse: ["a", "b", "c", "d", "e", "f"],
    weakensTests: true,
    weakened: ["g"],
    isFlaky: true,
  };
  expect(checksMessagesFor("en").remarks(facts)).toEqual([
    "Newly failing or missing: a, b, c, d, e and 1 more",
    "This weakens 1 test, taken away or skipped: g",
    "A check is flaky: it was red once and not when it was run again.",
  ]);
  expect(checksMessagesFor("ja").remarks(facts)).toHaveLength(3);
  expect(checksMessagesFor("en").remarks(green)).toEqual([]);
});
