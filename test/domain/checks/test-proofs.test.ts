import { expect, test } from "bun:test";
import { countProofs } from "../../../src/domain/checks/test-proofs.ts";
import { countTests, type TestOutcome } from "../../../src/domain/checks/test-results.ts";
import type { CheckResult } from "../../../src/domain/checks/verdict.ts";

function over(
  state: CheckResult["state"],
  outcomes: Readonly<Record<string, TestOutcome>> | null,
  listed: "all" | "failed" = "all",
): readonly CheckResult[] {
  const tests = new Map(Object.entries(outcomes ?? {}));
  const results = outcomes === null ? null : { formats: [], listed, tests, counts: countTests(tests) };
  return [{ kind: "test", command: "npm test", state, results }];
}

test("new tests over the old code: which pass, and which cannot run there at all", () => {
  const names = ["a", "b", "c"];
  expect(countProofs(names, over("red", { a: "pass", b: "fail", c: "fail" }))).toEqual({
    count: 3,
    passWithout: 1,
  });
  // Their file could not be loaded, or not be compiled.
  expect(countProofs(names, over("red", { old: "pass" }))).toEqual({
    count: 3,
    passWithout: 0,
    cannotRun: 3,
  });
  expect(countProofs(names, over("red", null))).toEqual({ count: 3, passWithout: 0, cannotRun: 3 });
  expect(countProofs(names, over("red", { a: "error", b: "fail", c: "fail" }))).toMatchObject({
    cannotRun: 1,
  });
  expect(countProofs(names, over("timed-out", null))).toEqual({
    count: 3,
    passWithout: 0,
    isEndless: true,
  });
});

test("a tool that names failures only does not say which of the others ran", () => {
  expect(countProofs(["a", "b"], over("red", { a: "fail" }, "failed"))).toBeNull();
  expect(countProofs(["a"], over("red", { a: "fail" }, "failed"))).toEqual({ count: 1, passWithout: 0 });
  expect(countProofs(["a"], over("green", { old: "pass" }))).toBeNull();
});
