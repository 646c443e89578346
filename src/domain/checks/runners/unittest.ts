import { confirmTestCounts, createTestList, type TestOutcome, type TestResults } from "../test-results.ts";

const BEGINS = /^\s*(\w+ \([\w.<>]+\)(?: \(.*?\)| \[.*?\])*)(?: \.\.\. ?(.*))?$/;
const ENDS = /(?:^| )\.\.\. (ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$/;
const RAN = /^Ran (\d+) tests? in [\d.]+s$/;
const TOTAL = /^(?:OK|FAILED)(?: \((.*)\))?$/;

/** A file that cannot be loaded is listed as a test of this name. */
const NOT_LOADED = /\(unittest\.loader\._FailedTest/;

/** Python's unittest with `-v`: a line a test, which its first line of documentation may break, and the counts at the end. */
export function readUnittest(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let open: string | null = null;
  let ran: number | null = null;
  let ends = 0;
  for (const line of lines) {
    if (ran !== null) {
      const total = TOTAL.exec(line);
      if (total === null) continue;
      const said = total[1] ?? "";
      const failed = number(said, "failures") + number(said, "errors") + number(said, "unexpected successes");
      const skipped = number(said, "skipped") + number(said, "expected failures");
      counts.failed += failed;
      counts.skipped += skipped;
      counts.passed += Math.max(0, ran - failed - skipped);
      ran = null;
      ends++;
      continue;
    }
    const count = RAN.exec(line);
    if (count !== null) {
      ran = Number(count[1]);
      open = null;
      continue;
    }
    const begins = BEGINS.exec(line);
    if (begins !== null) open = begins[1] ?? null;
    const ended = ENDS.exec(line);
    if (ended === null || open === null) continue;
    list.note(open, NOT_LOADED.test(open) ? "error" : unittestOutcome(ended[1] ?? ""));
    open = null;
  }
  return ends === 0 ? null : confirmTestCounts("unittest", counts, list.tests);
}

function unittestOutcome(word: string): TestOutcome {
  if (word === "ok") return "pass";
  return ["FAIL", "ERROR", "unexpected success"].includes(word) ? "fail" : "skip";
}

function number(said: string, word: string): number {
  return Number(new RegExp(`(?:^|, )${word}=(\\d+)`).exec(said)?.[1] ?? 0);
}
