import { confirmTestCounts, createTestList, type TestResults } from "../test-results.ts";

const VITEST_TEST = /^ ([✓×↓□]) (.+? > .*?)(?: [\d.]+m?s)?$/;
const VITEST_FAILURE = /^ FAIL {2}(.+)$/;
const VITEST_TOTAL = /^ +Tests {2}(?:no tests|(.*) \(\d+\))$/;

/** vitest. The reporter `verbose` lists every test, the others the failures. A file that could not be run is a failure, too. */
export function readVitest(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  const failures = new Set<string>();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let runs = 0;
  let inFailures = false;
  for (const line of lines) {
    if (/^ RUN {2}v/.test(line)) inFailures = false;
    if (/^⎯+ Failed /.test(line)) inFailures = true;
    const test = inFailures ? null : VITEST_TEST.exec(line);
    const failure = VITEST_FAILURE.exec(line)?.[1];
    const total = VITEST_TOTAL.exec(line);
    if (test !== null)
      list.add(test[2] as string, test[1] === "✓" ? "pass" : test[1] === "×" ? "fail" : "skip");
    else if (failure !== undefined) failures.add(failure);
    else if (total !== null) {
      counts.passed += vitestNumber(total[1], "passed");
      counts.failed += vitestNumber(total[1], "failed");
      counts.skipped += vitestNumber(total[1], "skipped") + vitestNumber(total[1], "todo");
      runs++;
    }
  }
  if (runs === 0) return null;
  // `file [ file ]` is a file that could not be run; the number of failed tests does not have it.
  const broken = [...failures].filter((name) => / \[ .* \]$/.test(name));
  for (const name of broken) list.note(name, "fail");
  return confirmTestCounts(
    "vitest",
    { ...counts, failed: counts.failed + broken.length },
    list.tests,
    failures,
  );
}

function vitestNumber(total: string | undefined, word: string): number {
  return Number(new RegExp(`(\\d+) ${word}\\b`).exec(total ?? "")?.[1] ?? 0);
}
