import { confirmTestCounts, createTestList, type TestOutcome, type TestResults } from "../test-results.ts";

const BEGINS = /^\s*(\w+ \([\w.<>]+\)(?: \(.*?\)| \[.*?\])*)(?: \.\.\. ?(.*))?$/;
/** The outcome, on a line of its own where the test printed something. */
const ENDS = /^(?:.*?(?:^| )\.\.\. )?(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$/;
const FAILED = /^(?:FAIL|ERROR): (\w+ \([\w.<>]+\)(?: \(.*?\)| \[.*?\])*)$/;
const OVER_FAILED = "=".repeat(70);
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
  for (const [at, line] of lines.entries()) {
    const count = RAN.exec(line);
    const total = ran === null ? null : TOTAL.exec(line);
    const heading = lines[at - 1] === OVER_FAILED ? FAILED.exec(line)?.[1] : undefined;
    if (count !== null) {
      ran = Number(count[1]);
      open = null;
    } else if (ran !== null && total !== null) {
      const said = total[1] ?? "";
      const failed = number(said, "failures") + number(said, "errors") + number(said, "unexpected successes");
      const skipped = number(said, "skipped") + number(said, "expected failures");
      counts.failed += failed;
      counts.skipped += skipped;
      counts.passed += Math.max(0, ran - failed - skipped);
      ran = null;
      ends++;
    } else if (heading !== undefined) list.note(heading, "fail");
    else if (ran === null) {
      open = BEGINS.exec(line)?.[1] ?? open;
      const ended = ENDS.exec(line)?.[1];
      if (ended === undefined || open === null) continue;
      list.note(open, NOT_LOADED.test(open) ? "error" : unittestOutcome(ended));
      open = null;
    }
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
