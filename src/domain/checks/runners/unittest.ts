import { confirmTestCounts, createTestList, type TestOutcome, type TestResults } from "../test-results.ts";

/** `test_a (mod.Class.test_a)`, before Python 3.11 `test_a (mod.Class)`: what tests print has other words in parentheses. */
const BEGINS =
  /^(?:.* \.\.\. | *)((\w+) \([\w.<>]+\.\2\)|(?:test\w*|runTest) \([A-Za-z_]\w*\.[\w.<>]+\)|\w+ \([\w.]*\)(?=\nDoctest: ))(?: \.\.\. |\n.* \.\.\. )/;
/** On a line of its own where the test printed something; the last before the next test is the outcome. Failures have headings. */
const ENDS = /(?:^|(?:^| )\.\.\. )(ok|skipped ['"].*|expected failure|unexpected success)$/;
const FAILED = /^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.+)$/;
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
    } else if (heading !== undefined) list.note(heading, NOT_LOADED.test(heading) ? "error" : "fail");
    else if (line === OVER_FAILED) open = null;
    else if (ran === null) {
      const begun = BEGINS.exec(`${line}\n${lines[at + 1] ?? ""}`)?.[1];
      open = begun ?? open;
      const ended = ENDS.exec(line)?.[1];
      // After the outcome of a test, one beside other words is of a test without a known name.
      const isOfOther = begun === undefined && ended !== line && list.tests.has(open ?? "");
      if (isOfOther && ended !== undefined) open = null;
      if (ended !== undefined && open !== null) list.note(open, unittestOutcome(ended));
    }
  }
  return ends === 0 ? null : confirmTestCounts("unittest", counts, list.tests);
}

function unittestOutcome(word: string): TestOutcome {
  if (word === "ok") return "pass";
  return word === "unexpected success" ? "fail" : "skip";
}

function number(said: string, word: string): number {
  return Number(new RegExp(`(?:^|, )${word}=(\\d+)`).exec(said)?.[1] ?? 0);
}
