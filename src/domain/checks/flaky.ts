import type { CheckResult } from "./verdict.ts";
import type { TestOutcome, TestResults } from "./test-results.ts";

export interface SettledResult {
  readonly result: CheckResult;
  readonly isFlaky: boolean;
}

/** Of a red result and its repetition: what failed only once is flaky and counts as passed. */
export function settleFlaky(first: CheckResult, second: CheckResult): SettledResult {
  if (first.state !== "red" && first.state !== "timed-out") return { result: first, isFlaky: false };
  if (second.state === "green") return { result: second, isFlaky: true };
  const before = first.results;
  const after = second.results;
  if (before === null || after === null || before.listed !== "all" || after.listed !== "all")
    return { result: second, isFlaky: false };
  const mended = [...after.tests.keys()].filter(
    (name) => after.tests.get(name) === "fail" && before.tests.get(name) === "pass",
  );
  const failedOnce = [...before.tests].filter(
    ([name, outcome]) => outcome === "fail" && after.tests.get(name) === "pass",
  );
  if (mended.length === 0) return { result: second, isFlaky: failedOnce.length > 0 };
  return { result: { ...second, results: withPassed(after, mended) }, isFlaky: true };
}

function withPassed(results: TestResults, names: readonly string[]): TestResults {
  const tests = new Map<string, TestOutcome>(results.tests);
  for (const name of names) tests.set(name, "pass");
  const { passed, failed, skipped } = results.counts;
  return {
    ...results,
    tests,
    counts: { passed: passed + names.length, failed: failed - names.length, skipped },
  };
}
