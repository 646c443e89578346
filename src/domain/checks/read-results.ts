import { cutMiddle } from "../texts/format-text.ts";
import { findUnserved, indentOf, namesMissingService, readFailures } from "./failures.ts";
import { isTestRun } from "./find-checks.ts";
import { FILE_RUN } from "./narrow-check.ts";
import { REPORTS, readJunit } from "./runners/junit.ts";
import { CHECK_RUNNERS } from "./runners/registry.ts";
import {
  countTests,
  createTestList,
  type TestCounts,
  type TestOutcome,
  type TestResults,
} from "./test-results.ts";

const READERS = CHECK_RUNNERS.flatMap(({ readers = [] }) => readers);

/** The rest of a longer line is ignored, except in XML: a parameter in the name of a test may be long. */
const LONGEST_LINE = 4000;

/** Of all tools that a check ran; null where no format is known or the end is missing. */
export function readResults(output: string): TestResults | null {
  const lines = wholeLines(output);
  const isByFile = lines.some((line) => line.startsWith(FILE_RUN.opens));
  const results = isByFile ? readFileRuns(lines) : readLines(lines);
  const failures = results === null ? [] : readFailures(lines, results.tests);
  if (results === null || failures.length === 0) return results;
  const unserved = findUnserved(failures).filter((name) => results.tests.get(name) === "fail");
  if (unserved.length === 0) return { ...results, failures };
  const tests = new Map([...results.tests, ...unserved.map((name) => [name, "error"] as const)]);
  const unable = (results.counts.unable ?? 0) + unserved.length;
  return { ...results, tests, counts: { ...results.counts, unable }, failures };
}

/** The counts in an output that the journal keeps; null where it is cut: tests, or one of several summaries, may be missing. */
export function readKeptCounts(output: string): TestCounts | null {
  const isCut = /^… \[\d+ characters cut\] …$/m.test(output);
  return isCut ? null : (readResults(output)?.counts ?? null);
}

/** The output of a file that cannot be loaded, which shows nothing about the code under test. */
const NOT_LOADED =
  /\b(?:Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND|ModuleNotFoundError|No module named)\b/;

const NO_TESTS = /^(?:=+ )?no tests ran in /;

/** A file without tests counts as one test, by its exit code, or if green beside others as a helper. Null if the last did not end. */
function readFileRuns(lines: readonly string[]): TestResults | null {
  const runs: { readonly path: string; readonly lines: string[]; exit: number | null }[] = [];
  for (const line of lines) {
    const run = runs.at(-1);
    if (line.startsWith(FILE_RUN.opens))
      runs.push({ path: line.slice(FILE_RUN.opens.length), lines: [], exit: null });
    else if (run !== undefined && run.exit === null && line.startsWith(FILE_RUN.closes))
      run.exit = Number(line.slice(FILE_RUN.closes.length));
    else run?.lines.push(line);
  }
  if (runs.some(({ exit }) => exit === null)) return null;
  const read = runs.map((run) => ({ ...run, results: readLines(run.lines) }));
  const showsTests = read.some(({ results }) => results !== null);
  const tests = new Map<string, TestOutcome>();
  let unlisted = 0;
  for (const { path, lines: printed, exit, results } of read) {
    for (const [name, outcome] of results?.tests ?? []) tests.set(`${path} > ${name}`, outcome);
    if (results?.listed === "failed") unlisted += results.counts.passed;
    const isRed = exit !== 0 && (results?.counts.failed ?? 0) === 0;
    if (printed.some((line) => NO_TESTS.test(line))) continue;
    if (isRed) tests.set(path, printed.some((line) => NOT_LOADED.test(line)) ? "error" : "fail");
    else if (results === null && !showsTests) tests.set(path, "pass");
  }
  const counts = countTests(tests);
  return {
    formats: [...new Set(read.flatMap(({ results }) => results?.formats ?? []))],
    listed: read.some(({ results }) => results?.listed === "failed") ? "failed" : "all",
    tests,
    counts: { ...counts, passed: counts.passed + unlisted },
  };
}

function readLines(lines: readonly string[]): TestResults | null {
  const short = lines.map((line) => line.slice(0, LONGEST_LINE));
  const found = [...READERS.flatMap((read) => read(short) ?? []), ...[readJunit(lines) ?? []].flat()];
  if (found.length <= 1) return found[0] ?? null;
  const list = createTestList();
  for (const { tests } of found) for (const [name, outcome] of tests) list.add(name, outcome);
  const sum = (key: "passed" | "failed" | "skipped") =>
    found.reduce((all, { counts }) => all + counts[key], 0);
  return {
    formats: found.flatMap(({ formats }) => formats),
    listed: found.every(({ listed }) => listed === "all") ? "all" : "failed",
    tests: list.tests,
    counts: { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") },
  };
}

const COLOURS = /\u001b\[[0-9;?]*[A-Za-z]/g;

/** Without colours. A line that does not end in a newline may be cut, and is left out. */
function wholeLines(output: string): string[] {
  const lines = output.replace(COLOURS, "").split(/\r?\n/);
  return lines.slice(0, -1);
}

/** How runners say that one test passed, or that it began. */
const PASSED = [
  /^\s*ok \d+\b(?!.*# (?:TODO|SKIP))/,
  /^\s*[✓✔√] /,
  /^\s*PASS(?:ED)? /,
  /^\S+::\S.* PASSED\b/,
  /^\s*--- PASS: /,
  /^\s*=== (?:RUN|PAUSE|CONT|NAME) /,
  /^test .+ \.\.\. ok$/,
  /^(?:\[\w+\] )?\S.*?(?: --| ) Time elapsed: [\d.,]+ s(?:ec)?$/,
];
/** How runners say that one test was left out, and rows of dots without a failure among them. */
const LEFT_OUT = [
  /^(?:SKIPPED|XFAIL) /,
  /^\S+::\S.* (?:SKIPPED|XFAIL)\b/,
  /^\s*--- SKIP: /,
  /^[.sxX]+ +\[ *\d+%\]$/,
];
/** How runners say that one test failed. */
const FAILED = [
  /^\s*not ok \d+\b/,
  /^\s*[✗✘✖×] /,
  /^\S+::\S.* FAILED\b/,
  /^\s*--- FAIL: /,
  /^test .+ \.\.\. FAILED$/,
  /(?: --| ) Time elapsed: [\d.,]+ s(?:ec)? +<<< (?:FAILURE|ERROR)!$/,
];
const BEGINS = /^\s*=== (?:RUN|PAUSE|CONT|NAME) +(\S+)/;

/** Counts tests while a runner still prints. `latest`: the test that began or ended last; empty before the first. */
export function createTestCounter() {
  let done = 0;
  let latest = "";
  let rest = "";
  const take = (line: string) => {
    const begun = BEGINS.exec(line)?.[1];
    if (begun !== undefined) latest = begun;
    else if ([...PASSED, ...FAILED].some((one) => one.test(line))) {
      done++;
      latest = line.replace(/^\s*(?:(?:not )?ok \d+ -? ?|[✓✔√✗✘✖×] |--- \w+: |\[[A-Z]+\] )/, "");
      latest = latest.replace(/(?: --| ) Time elapsed: .*$/, "").trim();
    }
  };
  return {
    add(text: string) {
      const lines = `${rest}${text}`.replace(COLOURS, "").split(/\r?\n/);
      rest = (lines.pop() ?? "").slice(-LONGEST_LINE);
      for (const line of lines) if (line.length <= LONGEST_LINE) take(line);
    },
    get done() {
      return done;
    },
    get latest() {
      return latest;
    },
  };
}

/** The result of a test in TAP. In other outputs, `# …` is a comment of a source that they quote. */
const TAP_RESULT = /^\s*(?:not )?ok \d+\b/;
/** The title of a test in TAP; alone it says nothing. */
const TITLE = /^\s*# (?!tests|pass|fail|skip|todo|suites|cancelled|duration)/;
/** Where a suite or a test begins, before its result is known. */
const OPENS = /^\s*(?:# Subtest: |▶ )/;
/** How many tests a suite within another one has. */
const INNER_PLAN = /^\s+1\.\.\d+$/;
/** The line that names a service or host which failing tests could not reach; null where they failed for another reason. */
export function findMissingService(output: string): string | null {
  const failures = readResults(output)?.failures ?? [];
  if (failures.length > 0 && findUnserved(failures).length === 0) return null;
  return output.split("\n").find(namesMissingService)?.trim() ?? null;
}

/** The output of any command: only what a test run itself reports as tests is folded, never the text of a file that a command shows. */
export function shortOutput(output: string, limitChars: number, script: string, isCheck = false): string {
  return (isCheck || isTestRun(script)) && readResults(`${output}\n`) !== null
    ? failingOutput(output, limitChars)
    : cutMiddle(output.replace(COLOURS, ""), limitChars);
}

/** The details that node's TAP prints below every line, also for tests that passed. */
const DETAILS = { opens: /^\s+---$/, closes: /^\s+\.\.\.$/ };

/**
 * The output of a runner without the tests that did not fail, and with each failure once: a coder needs to see the three failures among a
 * thousand tests. One line counts what is left out. If the rest is too long, its head and tail from the first failure on are kept.
 */
export function failingOutput(output: string, limitChars: number): string {
  const kept: string[] = [];
  let left = 0;
  let foldedAt = -1;
  let belowPassed = false;
  let inDetails = false;
  /** Titles whose tests have not failed so far. */
  let open: string[] = [];
  const fold = (count: number) => {
    if (count > 0 && foldedAt === -1) foldedAt = kept.length;
    left += count;
  };
  const foldTitles = (line: string) => {
    const outer = open.filter((title) => indentOf(title) < indentOf(line));
    fold(open.length - outer.length);
    open = outer;
  };
  const lines = countSameFailures((output.replace(COLOURS, "").split(REPORTS, 1)[0] ?? "").split("\n"));
  const isTap = lines.some((line) => TAP_RESULT.test(line));
  for (const [at, line] of lines.entries()) {
    const isDetail: boolean = belowPassed && (inDetails || DETAILS.opens.test(line));
    inDetails = isDetail && !DETAILS.closes.test(line);
    if (isDetail || (belowPassed && line.trim() === "" && at < lines.length - 1)) {
      fold(1);
      continue;
    }
    const isTitle = OPENS.test(line) || (isTap && TITLE.test(line) && saysNothing(lines[at + 1]));
    belowPassed = isTitle || INNER_PLAN.test(line) || isOfNoFailure(line);
    if (isTitle) {
      foldTitles(line);
      open.push(line);
    } else if (belowPassed) {
      foldTitles(line);
      fold(1);
    } else {
      kept.push(...open, line);
      open = [];
    }
  }
  fold(open.length);
  const isLong = kept.join("\n").length > limitChars;
  const before = isLong ? Math.max(0, kept.findIndex(tellsOfFailure)) : 0;
  const shown = kept.slice(before);
  const count = before + left === 1 ? "1 line" : `${before + left} lines`;
  const which = before === 0 ? "about" : "before the first failure or about";
  if (before + left > 0)
    shown.splice(before === 0 ? foldedAt : 0, 0, `… ${count} ${which} tests that did not fail …`);
  return cutMiddle(shown.join("\n"), limitChars);
}

function tellsOfFailure(line: string): boolean {
  return line.length <= LONGEST_LINE && [...FAILED, ACCOUNTS.begins].some((one) => one.test(line));
}

function saysNothing(next: string | undefined): boolean {
  return next !== undefined && (TITLE.test(next) || isOfNoFailure(next));
}

function isOfNoFailure(line: string): boolean {
  // No runner prints such a line, and matching these patterns on it would take very long.
  if (line.length > LONGEST_LINE) return false;
  return PASSED.some((one) => one.test(line)) || LEFT_OUT.some((one) => one.test(line));
}

/** Where a runner begins the account of one failure, and where the last of them ends. */
const ACCOUNTS = {
  begins: /^(?:_{3,} .+ _{3,}|(?:ERROR|FAIL): .+)$/,
  ends: /^=+ .+ =+$|^Ran \d+ tests? in /,
};

/** The account of the first failure of a report: all that a small model makes use of. */
export function firstFailure(report: string, limitChars: number): string {
  const lines = report.split("\n");
  const begun = lines.findIndex((line) => ACCOUNTS.begins.test(line));
  const from = Math.max(0, begun === -1 ? lines.findIndex(tellsOfFailure) : begun);
  const edges = [ACCOUNTS.begins, ACCOUNTS.ends];
  const next = lines.findIndex((line, at) => at > from && edges.some((edge) => edge.test(line)));
  return cutMiddle(lines.slice(from, next === -1 ? undefined : next).join("\n"), limitChars);
}

/** The error itself, as pytest and unittest print it. */
const ERROR_LINE = /^E {3}|^\w+(?:\.\w+)*(?:Error|Exception)\b/;
const PLACE_LINE = /^(\S+:\d+): |^ {2}File "(.+", line \d+)/;
/** How languages say that a name is used which nothing declares or imports. */
const MISSING_NAME =
  /\b(?:NameError|ImportError|ModuleNotFoundError|ReferenceError)\b|\bis not defined\b|\bCannot find (?:name|module)\b|\bcannot find (?:symbol|value|type|function|macro|crate|module)\b|\bundefined: |\bundeclared\b|\bunresolved (?:import|reference|name)\b|\buninitialized constant\b/;

/** Whether an output reports a missing name, which is usually fixed in a file's imports. */
export function tellsOfMissingName(output: string): boolean {
  return MISSING_NAME.test(output);
}

interface FailureAccount {
  readonly lines: readonly string[];
  /** Where it failed; empty where that is not said. */
  readonly place: string;
  /** The places of accounts with the same failure. */
  readonly others: string[];
}

/** Keeps one account of the same failure: the same error at one place, or the same missing name at any. */
function countSameFailures(lines: readonly string[]): string[] {
  const first = new Map<string, FailureAccount>();
  const accounts: FailureAccount[] = [];
  let from = 0;
  const close = (to: number) => {
    const own = lines.slice(from, to);
    from = to;
    const error = own.filter((line) => ERROR_LINE.test(line)).join("\n");
    const found = PLACE_LINE.exec(own.findLast((line) => PLACE_LINE.test(line)) ?? "");
    const account = { lines: own, place: found?.[1] ?? found?.[2] ?? "", others: [] };
    const key = `${error}\n${tellsOfMissingName(error) ? "" : account.place}`;
    const isReported = ACCOUNTS.begins.test(own[0] ?? "") && error !== "" && account.place !== "";
    const same = isReported ? first.get(key) : undefined;
    if (same !== undefined) {
      same.others.push(account.place);
      return;
    }
    if (isReported) first.set(key, account);
    accounts.push(account);
  };
  for (const [at, line] of lines.entries())
    if (at > from && (ACCOUNTS.begins.test(line) || ACCOUNTS.ends.test(line))) close(at);
  close(lines.length);
  return accounts.flatMap((account) => [...account.lines, ...wordOthers(account)]);
}

const PLACES_SHOWN = 5;

function wordOthers({ place, others }: FailureAccount): string[] {
  if (others.length === 0) return [];
  const places = [...new Set(others)].filter((other) => other !== place);
  const more = places.length > PLACES_SHOWN ? ", …" : "";
  const where = places.length === 0 ? "" : `, also at ${places.slice(0, PLACES_SHOWN).join(", ")}${more}`;
  return [`… the same failure ${others.length === 1 ? "once" : `${others.length} times`} more${where} …`];
}
