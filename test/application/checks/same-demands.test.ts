import { expect, test } from "bun:test";
import { filesOfTests, findSameDemands } from "../../../src/application/checks/affected.ts";
import { judgeAll } from "../../../src/domain/checks/verdict.ts";

const SUM = "src/test/java/p/SumTest.java";
const OTHER = "src/test/java/p/OtherTest.java";
const BASE = "src/test/java/p/AbstractTest.java";
const CHILD = "src/test/java/p/ChildTest.java";
const TEXTS = new Map([
  [SUM, "class SumTest { @Test void multiplies() { assertEquals(6, Sum.times(2, 3)); } }"],
  [OTHER, "class OtherTest { @Test void one() {} }"],
  [BASE, "abstract class AbstractTest { @Test void each() { assertEquals(7, size()); } }"],
  [CHILD, "class ChildTest extends AbstractTest {}"],
]);

/** A draft that changes these files of tests; their old version has another line. */
const changing = (...paths: readonly string[]) => ({
  diff: () =>
    paths.map((path) => {
      const after = TEXTS.get(path) ?? "";
      return { path, before: Buffer.from(`${after}\n// old`), after: Buffer.from(after) };
    }),
});

test("where the old version of one test does not compile, only tests of changed files expect something else", () => {
  const tests = new Map([
    ["p.SumTest › multiplies", "pass"],
    ["p.OtherTest › one", "pass"],
  ] as const);
  const results = {
    formats: [],
    listed: "all",
    tests,
    counts: { passed: 2, failed: 0, skipped: 0 },
  } as const;
  const green = { kind: "test", command: "mvn test", state: "green", results } as const;
  const { expectsElse } = judgeAll({
    baseline: [green],
    draft: [green],
    old: [{ ...green, state: "red", results: null }],
    demandsSame: findSameDemands(changing(SUM), TEXTS),
  });
  expect(expectsElse).toEqual(["p.SumTest › multiplies"]);
});

test("a test that uses a changed file of tests, or lies in an unknown file, may demand something else", () => {
  const ofBase = findSameDemands(changing(BASE), TEXTS);
  expect(["p.ChildTest › each", "p.OtherTest › one", "unknown"].map(ofBase)).toEqual([false, true, false]);
  const ofData = findSameDemands(changing(SUM, "src/test/resources/cases.json"), TEXTS);
  expect(ofData("p.OtherTest › one")).toBe(false);
  expect(findSameDemands(changing(), TEXTS)("unknown")).toBe(true);
});

test("a test of Go may use every changed file of its package, and demands something else with it", () => {
  const [a, b] = ["calc/a_test.go", "calc/b_test.go"];
  const texts = new Map([
    [a, "package calc\nfunc want(t *testing.T, got int) {}\nfunc TestA(t *testing.T) { want(t, 3) }\n"],
    [b, "package calc\nfunc TestB(t *testing.T) { want(t, 6) }\n"],
  ]);
  const before = Buffer.from("package calc\nfunc TestA(t *testing.T) {}\n");
  const draft = { diff: () => [{ path: a, before, after: Buffer.from(texts.get(a) ?? "") }] };
  expect(findSameDemands(draft, texts)("m/calc › TestB")).toBe(false);
});

test.each([
  "test-sum.js",
  "lib/sum-test.js",
  "integration-tests/sum.js",
  "unit_tests/sum.py",
  "sum_tests.py",
])("a failing test is repeated alone in %s", (path) => {
  const texts = new Map([
    [path, 'it("Sum adds two", f)'],
    ["lib/sum.js", "// Sum adds two"],
  ]);
  expect(filesOfTests(["Sum adds two"], texts)).toEqual([path]);
});
