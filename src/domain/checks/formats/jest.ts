import { confirmTestCounts, createTestList, type TestList, type TestResults } from "../test-results.ts";
import { createOutline } from "./outline.ts";

const JEST_FILE = /^(PASS|FAIL) (\S.*?)(?: \([\d.]+ m?s\))?$/;
const JEST_TEST = /^( +)(?:([✓√])|([✕×])|[○✎]) (?:(?:skipped|todo) )?(.*?)(?: \([\d.]+ m?s\))?$/;
const JEST_TOTAL = /^Tests: +(.*\b\d+ total)$/;
const JEST_BROKEN = "Test suite failed to run";

/** jest. With `--verbose`, or for one file, every test is listed; else the failures. A file that could not be run is a failure, too. */
export function readJest(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  const failures = new Set<string>();
  const broken = new Set<string>();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let file = "";
  let runs = 0;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string;
    const header = JEST_FILE.exec(line);
    const total = JEST_TOTAL.exec(line)?.[1];
    const bullet = /^ {2}● (.+)$/.exec(line)?.[1];
    if (header !== null) {
      file = header[2] as string;
      if (!broken.has(file)) takeJestTree(lines, at + 1, file, list);
    } else if (bullet === JEST_BROKEN) broken.add(file);
    else if (bullet !== undefined && bullet !== "Console") failures.add(`${file} › ${bullet}`);
    else if (total !== undefined) {
      counts.passed += jestNumber(total, "passed");
      counts.failed += jestNumber(total, "failed");
      counts.skipped += jestNumber(total, "skipped") + jestNumber(total, "todo");
      runs++;
    } else if (line.startsWith("Summary of all failing tests"))
      at = lines.findIndex((one, next) => next > at && JEST_TOTAL.test(one)) - 1;
    if (at < 0) return null;
  }
  if (runs === 0) return null;
  for (const name of broken) list.note(name, "fail");
  const failed = counts.failed + broken.size;
  return confirmTestCounts("jest", { ...counts, failed }, list.tests, [...failures, ...broken]);
}

/** The tree follows its file at once and ends with an empty line. */
function takeJestTree(lines: readonly string[], from: number, file: string, list: TestList): void {
  const outline = createOutline();
  outline.heading(0, file);
  for (let at = from; at < lines.length && lines[at] !== ""; at++) {
    const line = lines[at] as string;
    const indent = line.length - line.trimStart().length;
    if (indent < 2 || line.startsWith("  ●")) return;
    const test = JEST_TEST.exec(line);
    if (test === null) outline.heading(indent, line.trim());
    else {
      const outcome = test[2] !== undefined ? "pass" : test[3] !== undefined ? "fail" : "skip";
      list.add(outline.nameOf(indent, test[4] as string), outcome);
    }
  }
}

function jestNumber(total: string, word: string): number {
  return Number(new RegExp(`(\\d+) ${word}\\b`).exec(total)?.[1] ?? 0);
}
