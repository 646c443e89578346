import {
  confirmTestCounts,
  countTests,
  createTestList,
  type TestList,
  type TestOutcome,
  type TestResults,
  totalTests,
} from "../test-results.ts";
import { numberBefore } from "./pytest.ts";

/** The headings above a line, by their indentation: how mocha and jest print their suites. */
type Outline = ReturnType<typeof createOutline>;

function createOutline() {
  let headings: { readonly indent: number; readonly title: string }[] = [];
  const above = (indent: number) => headings.filter((one) => one.indent < indent);
  return {
    heading(indent: number, title: string): void {
      headings = [...above(indent), { indent, title }];
    },
    /** The name of the entry at this indentation, with the headings above it. */
    nameOf: (indent: number, title: string) => [...above(indent).map((one) => one.title), title].join(" › "),
  };
}

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
      counts.passed += numberBefore(total, "passed");
      counts.failed += numberBefore(total, "failed");
      counts.skipped += numberBefore(total, "skipped") + numberBefore(total, "todo");
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

const VITEST_TEST = /^ ([✓×↓□]) (.+? > .*?)(?: [\d.]+m?s)?$/;
const VITEST_FAILURE = /^ FAIL {2}(.+)$/;
const VITEST_TOTAL = /^ +Tests {2}(?:no tests|.* \(\d+\))$/;

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
    const total = VITEST_TOTAL.exec(line)?.[0];
    if (test !== null)
      list.add(test[2] as string, test[1] === "✓" ? "pass" : test[1] === "×" ? "fail" : "skip");
    else if (failure !== undefined) failures.add(failure);
    else if (total !== undefined) {
      counts.passed += numberBefore(total, "passed");
      counts.failed += numberBefore(total, "failed");
      counts.skipped += numberBefore(total, "skipped") + numberBefore(total, "todo");
      runs++;
    }
  }
  if (runs === 0) return null;
  // `file [ file ]` is a file that could not be run; the number of failed tests does not have it.
  const broken = [...failures].filter((name) => / \[ .* \]$/.test(name));
  for (const name of broken) list.note(name, "fail");
  const failed = counts.failed + broken.length;
  return confirmTestCounts("vitest", { ...counts, failed }, list.tests, failures);
}

const NODE_LINE = /^( *)([✔✖﹣▶⚠]) (.*?)(?: \([\d.]+ms\))?( # .*)?$/u;
/** A test that a hook of its suite kept from running has no time, but this account. */
const NODE_CANCELLED = /was cancelled'$/;
const NODE_COUNT = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;

interface NodeSuite {
  readonly indent: number;
  readonly title: string;
  /** How many tests had failed when it opened. */
  readonly failedBefore: number;
}

interface NodeTests {
  readonly list: TestList;
  readonly lines: readonly string[];
  failed: number;
}

/**
 * The reporter `spec` of node:test. A suite opens with ▶ and ends with a line of its own name, which is not a test. A test with subtests
 * looks the same; the summary counts it as a test, and here its subtests count alone, and itself where it fails by itself.
 */
export function readNodeSpec(lines: readonly string[]): TestResults | null {
  const tests: NodeTests = { list: createTestList(), lines, failed: 0 };
  let suites: NodeSuite[] = [];
  let declared = 0;
  let totals: Record<string, number> = {};
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let runs = 0;
  let inFailures = false;
  for (const [at, line] of lines.entries()) {
    if (line === "✖ failing tests:") inFailures = true;
    const count = NODE_COUNT.exec(line);
    if (count === null) {
      if (!inFailures) suites = takeNodeLine(suites, tests, at);
      continue;
    }
    if (count[1] === "tests") {
      totals = {};
      suites = [];
      inFailures = false;
    }
    totals[count[1] as string] = Number(count[2]);
    if (count[1] !== "duration_ms") continue;
    const { pass = 0, fail = 0, cancelled = 0, skipped = 0, todo = 0 } = totals;
    declared += totals.suites ?? 0;
    counts.passed += pass;
    counts.failed += fail + cancelled;
    counts.skipped += skipped + todo;
    runs++;
  }
  if (runs === 0 || suites.length > 0) return null;
  const seen = countTests(tests.list.tests);
  const isBorneOut = tests.list.tests.size === totalTests(counts) + declared;
  return confirmTestCounts("node-spec", isBorneOut ? seen : counts, tests.list.tests);
}

function takeNodeLine(suites: NodeSuite[], tests: NodeTests, at: number): NodeSuite[] {
  const match = NODE_LINE.exec(tests.lines[at] as string);
  if (match === null) return suites;
  const [whole, spaces = "", mark, title = "", remark = ""] = match;
  const indent = spaces.length;
  const outer = suites.filter((suite) => suite.indent < indent);
  const ending = suites.find((suite) => suite.indent === indent && suite.title === title);
  const ends = ending !== undefined && (mark !== "▶" || whole.endsWith("ms)"));
  if (!ends && mark === "▶") return [...outer, { indent, title, failedBefore: tests.failed }];
  if (!ends && !NODE_TIMED_LINE.test(whole) && !NODE_CANCELLED.test(tests.lines[at + 1] ?? "")) return suites;
  // One that fails although nothing in it does fails by itself, as in a hook; so does one that is repeated among the failing tests.
  const isRepeated = () => tests.lines.filter((line) => line.endsWith(whole.trimStart())).length > 1;
  const isParent = ends && (mark !== "✖" || (tests.failed > ending.failedBefore && !isRepeated()));
  const outcome = isParent ? "parent" : nodeOutcome(mark, remark);
  if (outcome === "fail") tests.failed++;
  tests.list.add([...outer.map((suite) => suite.title), title].join(" › "), outcome);
  return outer;
}

function nodeOutcome(mark: string | undefined, remark: string): TestOutcome {
  if (/# (?:SKIP|TODO)/i.test(remark) || mark === "﹣" || mark === "⚠") return "skip";
  return mark === "✔" ? "pass" : "fail";
}
