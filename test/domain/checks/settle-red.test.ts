import { expect, test } from "bun:test";
import { readDeclarations } from "../../../src/domain/checks/declarations.ts";
import { type RedTests, settleRedTests } from "../../../src/domain/checks/settle-red.ts";
import { countTests, type TestOutcome } from "../../../src/domain/checks/test-results.ts";
import { type CheckResult, judgeAll } from "../../../src/domain/checks/verdict.ts";

function result(tests: Readonly<Record<string, TestOutcome>>): CheckResult {
  const all = new Map(Object.entries(tests));
  const counts = countTests(all);
  return {
    kind: "test",
    command: "test",
    state: counts.failed > 0 ? "red" : "green",
    results: { formats: ["tap"], listed: "all", tests: all, counts },
  };
}

function settle(
  [before, now, old]: readonly [CheckResult, CheckResult, CheckResult],
  { plan = "", diff = [], texts = new Map() }: { plan?: string } & Partial<Pick<RedTests, "diff" | "texts">>,
) {
  return settleRedTests({
    declarations: readDeclarations(plan),
    changed: diff.map(({ path }) => path),
    before: [before],
    results: [now],
    checks: [{ kind: "test", command: "test", line: "test" }],
    judgement: judgeAll({ baseline: [before], draft: [now], old: [old] }),
    texts,
    diff,
  });
}

const both = result({ adds: "pass", multiplies: "pass" });
const one = result({ adds: "pass" });
const broken = result({ adds: "pass", multiplies: "fail" });
const MUL_TEST =
  'import { mul } from "../src/mul.js";\ntest("multiplies", () => assert.equal(mul(2, 2), 4));\n';
const gone = (path: string, before: string) => ({ path, before, after: null });

test("a test that is deleted with all the code it imports is removed with its code, not worse", () => {
  const diff = [gone("test/mul.test.js", MUL_TEST), gone("src/mul.js", "export const mul = 1;\n")];
  const { judgement, found } = settle([both, one, broken], { diff });
  expect([judgement.verdict, judgement.worse, found.removedWithCode]).toEqual(["same", [], ["multiplies"]]);
});

test("a test that is deleted while its code stays is worse, unless the coder declares it", () => {
  const diff = [gone("test/mul.test.js", MUL_TEST)];
  const texts = new Map([["src/mul.js", "export const mul = 1;\n"]]);
  expect(settle([both, one, broken], { diff, texts }).judgement.verdict).toBe("worse");
  const { judgement, found } = settle([both, one, broken], { diff, texts, plan: "Removes: multiplies" });
  expect([judgement.verdict, found.removed]).toEqual(["same", ["multiplies"]]);
});

test("tests that get other names and demand no less weaken nothing, and are not new", () => {
  const renamed = result({ adds: "pass", "multiplies two": "pass", "multiplies three": "pass" });
  const after = `test("multiplies two", () => assert.equal(mul(2, 2), 4));
test("multiplies three", () => assert.equal(mul(3, 2), 6));\n`;
  const before = 'test("multiplies", () => assert.equal(mul(2, 2), 4));\n';
  const diff = [{ path: "test/mul.test.js", before, after }];
  const { judgement } = settle([both, renamed, both], {
    diff,
    texts: new Map([["test/mul.test.js", after]]),
  });
  expect(judgement).toMatchObject({
    verdict: "same",
    weakened: [],
    weakensTests: false,
    moved: ["multiplies"],
  });
  expect(judgement.newPassing).toHaveLength(1);
  const less = [{ path: "test/mul.test.js", before, after: 'test("multiplies two", () => {});\n' }];
  expect(settle([both, renamed, both], { diff: less }).judgement.weakened).toEqual(["multiplies"]);
});
