import { confirmTestCounts, createTestList, type TestList, type TestResults } from "../test-results.ts";
import { createOutline, type Outline } from "./outline.ts";

const MOCHA_TEST = /^( +)(?:([✔✓])|(-)|\d+\)) (.*?)(?: \(\d+ms\))?$/;
/** node:test marks its tests the same way, but always tells their time, in fractions. */
const NODE_TIMED_LINE = / \(\d+\.\d+ms\)(?: # .*)?$/;
const MOCHA_COUNT = /^ {2}(\d+) (passing|pending|failing)(?: \([^)]*\))?$/;

/** The reporter `spec` of mocha, and every other one of it that ends with its summary: then the failures alone have names. */
export function readMocha(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  const failures = new Set<string>();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let outline = createOutline();
  let runs = 0;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string;
    if (MOCHA_COUNT.exec(line)?.[2] !== "passing") {
      takeMochaLine(outline, line, list);
      continue;
    }
    const summary = readMochaSummary(lines, at);
    if (summary === null) return null;
    counts.passed += summary.passing;
    counts.skipped += summary.pending;
    counts.failed += summary.failing;
    at = takeMochaFailures(lines, summary.end, summary.failing, failures);
    outline = createOutline();
    runs++;
  }
  return runs === 0 ? null : confirmTestCounts("mocha", counts, list.tests, failures);
}

function takeMochaLine(outline: Outline, line: string, list: TestList): void {
  if (NODE_TIMED_LINE.test(line)) return;
  const test = MOCHA_TEST.exec(line);
  const indent = line.length - line.trimStart().length;
  if (test !== null) {
    const outcome = test[2] !== undefined ? "pass" : test[3] !== undefined ? "skip" : "fail";
    list.add(outline.nameOf(indent, test[4] as string), outcome);
  } else if (indent >= 2 && indent % 2 === 0) outline.heading(indent, line.trim());
}

/** An empty line ends the summary; without it, the line about failures may be missing. */
function readMochaSummary(lines: readonly string[], from: number) {
  const found = { passing: 0, pending: 0, failing: 0 };
  for (let end = from; end < lines.length; end++) {
    const count = MOCHA_COUNT.exec(lines[end] as string);
    if (count !== null) found[count[2] as keyof typeof found] = Number(count[1]);
    else return lines[end] === "" ? { ...found, end } : null;
  }
  return null;
}

/** `  1) suite`, deeper suites below it, and the title with a colon at its end. */
function takeMochaFailures(
  lines: readonly string[],
  from: number,
  wanted: number,
  failures: Set<string>,
): number {
  let at = from;
  for (let number = 1; number <= wanted; number++) {
    const head = `  ${number}) `;
    while (at < lines.length && !lines[at]?.startsWith(head)) at++;
    const titles: string[] = [];
    for (; at < lines.length; at++) {
      const part = (lines[at] as string).slice(titles.length === 0 ? head.length : 0).trim();
      titles.push(part.replace(/:$/, ""));
      if (part.endsWith(":") || part === "") break;
    }
    if (titles.length > 0) failures.add(titles.join(" › "));
  }
  return at;
}
