import { confirmTestCounts, createTestList, type TestOutcome, type TestResults } from "../test-results.ts";

const WORD = "PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS";
const SUMMARY = /^=+ short test summary info =+$/;
const LISTED = new RegExp(`^(${WORD}) (.+)$`);
/** One failed part of a test that continues: `SUBFAILED(i=2) test_a.py::test_b - assert`. */
const PART_FAILED = /^SUBFAILED(\[.*?\]|\(.*?\))* (\S+)(?: - .*)?$/;
const VERBOSE = new RegExp(`^(\\S.*?::.*?) (${WORD})(?: \\(.*\\))?(?: +\\[ *\\d+%\\])?$`);
const PARALLEL = new RegExp(`^\\[gw\\d+\\] \\[ *\\d+%\\] (${WORD}) (.+)$`);
const TOTAL =
  /^(?:=+ )?((?:\d+ [a-z]+(?: [a-z]+)?, )*\d+ [a-z]+(?: [a-z]+)?|no tests ran) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$/;

/** pytest: the list of `-v`, the short summary (`-rp` names what passed) and the last line with its counts. */
export function readPytest(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const expected = { xfailed: 0, xpassed: 0 };
  let inSummary = false;
  let inReports = false;
  let runs = 0;
  for (const line of lines) {
    if (SUMMARY.test(line)) inSummary = true;
    else if (/^=+ (?:FAILURES|ERRORS|PASSES|warnings summary.*) =+$/.test(line)) inReports = true;
    const total = TOTAL.exec(line)?.[1];
    if (total !== undefined) {
      counts.passed += numberBefore(total, "passed");
      counts.failed += numberBefore(total, "failed") + numberBefore(total, "errors?");
      counts.skipped += ["skipped", "xfailed", "xpassed"].reduce(
        (sum, word) => sum + numberBefore(total, word),
        0,
      );
      expected.xfailed += numberBefore(total, "xfailed");
      expected.xpassed += numberBefore(total, "xpassed");
      runs++;
      inSummary = false;
      inReports = false;
    } else if (inSummary) {
      const part = PART_FAILED.exec(line);
      if (part === null) takeListed(list.note, LISTED.exec(line));
      else list.add(`${part[2]} ${line.slice("SUBFAILED".length, line.indexOf(` ${part[2]}`))}`, "fail");
    } else if (!inReports) {
      const verbose = VERBOSE.exec(line);
      const parallel = PARALLEL.exec(line);
      if (verbose !== null) list.note(verbose[1] as string, pytestOutcome(verbose[2]));
      else if (parallel !== null) list.note(parallel[2] as string, pytestOutcome(parallel[1]));
    }
  }
  const { xfailed, xpassed } = expected;
  const told = { ...counts, ...(xfailed > 0 && { xfailed }), ...(xpassed > 0 && { xpassed }) };
  return runs === 0 || inSummary ? null : confirmTestCounts("pytest", told, list.tests);
}

/** A message may follow the name; brackets of a parameter may hold what looks like one. `SKIPPED [2] file:10` has no name. */
function takeListed(note: (name: string, outcome: TestOutcome) => void, match: RegExpExecArray | null): void {
  const [, word, rest = ""] = match ?? [];
  if (word === undefined || /^\[\d+\] /.test(rest)) return;
  const name = /^[^[]*?\[.*?\](?= - |$)/.exec(rest)?.[0] ?? rest;
  const plain = rest.split(" - ", 1)[0] as string;
  note(plain.includes("[") ? name : plain, pytestOutcome(word));
}

function pytestOutcome(word: string | undefined): TestOutcome {
  switch (word) {
    case "PASSED":
      return "pass";
    case "FAILED":
      return "fail";
    case "ERROR":
      return "error";
    default:
      return "skip";
  }
}

export function numberBefore(total: string, word: string): number {
  return Number(new RegExp(`(\\d+) ${word}\\b`).exec(total)?.[1] ?? 0);
}
