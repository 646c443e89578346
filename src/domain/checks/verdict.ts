import { lacksService } from "./failures.ts";
import type { ProjectCheck } from "./find-checks.ts";
import { isTestPath } from "./path-kinds.ts";
import {
  bareTestName,
  type CheckFailure,
  countTests,
  holds,
  type TestCounts,
  type TestOutcome,
  type TestResults,
  totalTests,
} from "./test-results.ts";

/** How one check ended. `cannot-run`: its program or dependencies are missing, which shows nothing about the change. */
export interface CheckResult {
  readonly kind: ProjectCheck["kind"];
  readonly command: string;
  readonly state: "green" | "red" | "timed-out" | "cannot-run";
  /** The command that judges instead, if the check itself cannot. */
  readonly rung?: LowerRung;
  /** The missing program. */
  readonly absent?: string;
  /** Null where the format is not known. */
  readonly results: TestResults | null;
  /** Its output, if it is red and names no tests. */
  readonly failure?: CheckFailure;
}

export interface LowerRung {
  /** The line that is run. */
  readonly line: string;
  /** The check that it replaces, as people type it. */
  readonly insteadOf: string;
  /**
   * `home`: it is the same command, and needs what earlier jobs installed in the private home. `options`: it is the same command,
   * which fails with options that name its tests.
   */
  readonly why: "cannot-run" | "timed-out" | "unread" | "home" | "options";
  /** The cause that kept it from running, where that is outside the sources. */
  readonly cause?: string;
}

/** Whether a result over the current project can serve as a baseline: it has a passed test or a green exit. */
export function judgesBaseline(result: CheckResult): boolean {
  const { state, results } = result;
  if (state === "green") return true;
  if (state !== "red" || results === null) return false;
  return results.counts.passed > 0 || failingTests(result).length > 0;
}

/** Whether the result shows nothing about the code: no test could be set up, or a missing service ended the run before the tests. */
export function isUnable({ results, failure }: CheckResult): boolean {
  if (failure !== undefined) return lacksService(failure);
  const { passed = 0, failed = 0, unable = 0 } = results?.counts ?? {};
  return passed === 0 && unable > 0 && failed === unable;
}

/** The first line with an error, as of a compiler, of the first red check without named tests, else its last; empty where all are named. */
export function findErrorBefore(results: readonly CheckResult[]): string {
  const { failure } = results.find((one) => one.failure !== undefined && !isUnable(one)) ?? {};
  const lines = failure?.tail.trim().split("\n") ?? [];
  return (lines.find((line) => /\berror\b/i.test(line)) ?? lines.at(-1) ?? "").trim().slice(0, 200);
}

const SERVICES: readonly (readonly [name: string, port: number])[] = [
  ["PostgreSQL", 5432],
  ["MySQL", 3306],
  ["Redis", 6379],
  ["MongoDB", 27017],
  ["RabbitMQ", 5672],
  ["Kafka", 9092],
  ["Elasticsearch", 9200],
];
const REFUSED = /ECONNREFUSED|connection refused|can't connect to/i;

/** The services that tests call by their usual ports, and that did not answer. */
export function findServices(outputs: readonly string[]): string[] {
  const refused = outputs.flatMap((output) => output.split("\n").filter((line) => REFUSED.test(line)));
  return SERVICES.flatMap(([name, port]) => {
    const isCalled = refused.some((line) => new RegExp(`(?::|\\bport )${port}\\b`).test(line));
    return isCalled ? [`${name} (port ${port})`] : [];
  });
}

/**
 * `same`: green, and not red before. `better`: something was fixed and nothing is worse. `new-failing`: only new tests fail. `red-before`:
 * red as before, nothing worse. `still-red`: as before, and the change is connected with a red test, or was declared to fix it.
 * `doubtful`: nothing is worse, but the code refers to the test run, a red test passes only with the draft's tests, or a test of
 * the changed code became flaky. `unknown`: red before and after, and the failing tests are unknown.
 */
export type Verdict =
  | "same"
  | "better"
  | "worse"
  | "doubtful"
  | "still-red"
  | "new-failing"
  | "red-before"
  | "unknown"
  | "not-checked";

/** Tests by how they changed. Records of older versions lack the optional lists. */
interface JudgedTests {
  /** Passed before, and fail now or are gone. Empty where only the exit code is known. */
  readonly worse: readonly string[];
  readonly mended: readonly string[];
  readonly newFailing: readonly string[];
  /** New, and pass. */
  readonly newPassing?: readonly string[];
  /** Failed before, are connected with the change or declared as fixed by it, and fail or are gone. */
  readonly stillRed?: readonly string[];
  /** Fail as before, and are not connected with the change. */
  readonly redBefore?: readonly string[];
  /** Failed before, and are gone or skipped. */
  readonly silenced?: readonly string[];
  /** Could not be set up, neither before nor now: they show nothing. */
  readonly unable?: readonly string[];
  /** Passed before, and pass below another file or suite. */
  readonly moved?: readonly string[];
  /** Pass, and their old version fails: the draft changes what they expect. */
  readonly expectsElse?: readonly string[];
  /** Failed before, and pass only with the draft's tests, as it rewrote them or beside new ones: with the old tests they still fail. */
  readonly rewritten?: readonly string[];
  /** Removed or skipped, so that their assertions no longer run. */
  readonly weakened: readonly string[];
}

export interface Judgement extends JudgedTests {
  readonly verdict: Verdict;
  /** Of the draft. */
  readonly counts: TestCounts | null;
  /** The draft removes or skips tests. */
  readonly weakensTests: boolean;
}

export interface JudgeInput {
  /** The check over the workspace before the change; null if it did not run. */
  readonly baseline: CheckResult | null;
  readonly draft: CheckResult;
  /** Over the draft, with the tests that the draft changed in their old version; null where it changed none. */
  readonly old: CheckResult | null;
  /** Whether the draft leaves the text of a test's expectations unchanged. */
  readonly demandsSame?: (test: string) => boolean;
  /** Whether the draft gives a test, and the code that it tests, other names alone. */
  readonly isRenamed?: (test: string) => boolean;
  /** Tests that no check could set up before. */
  readonly unableBefore?: ReadonlySet<string>;
}

const UNCOMPARED = { worse: [], mended: [], newFailing: [], weakened: [], weakensTests: false } as const;

/** Judges one check: by its exit code, or test by test where it was red before. */
export function judgeCheck({
  baseline,
  draft,
  old,
  demandsSame = () => false,
  isRenamed = () => false,
  unableBefore = new Set(),
}: JudgeInput): Judgement {
  const counts = draft.results?.counts ?? null;
  const ran = baseline?.state === "green" || baseline?.state === "red" ? baseline : null;
  if (draft.state === "cannot-run" || draft.state === "timed-out")
    return { ...UNCOMPARED, counts, verdict: ran === null ? "not-checked" : "worse" };
  if (ran === null) return { ...UNCOMPARED, counts, verdict: draft.state === "green" ? "same" : "unknown" };
  const comparison = { baseline: ran, draft, old, demandsSame, isRenamed, unableBefore };
  const compared = compare(comparison);
  return { ...compared, counts, verdict: compareVerdict(comparison, compared) };
}

type Compared = Omit<Judgement, "verdict" | "counts">;
type Comparison = Required<Omit<JudgeInput, "baseline">> & { readonly baseline: CheckResult };

function compareVerdict({ baseline, draft, old }: Comparison, compared: Compared): Verdict {
  const { worse, mended, newFailing, unable = [] } = compared;
  const wasGreen = baseline.state === "green";
  const [before, now] = [baseline.results, draft.results];
  if (worse.length > 0 || hasVanished(before, draft, old) || hasLostTests(before, now, old)) return "worse";
  if (draft.state === "green") return wasGreen ? "same" : "better";
  const onlyNew = newFailing.length > 0 && newFailing.length === now?.counts.failed;
  const onlyUnable = unable.length > 0 && unable.length === now?.counts.failed;
  if (wasGreen) return onlyNew ? "new-failing" : onlyUnable ? "same" : "worse";
  if (before === null) return "unknown";
  if (now === null) return before.counts.passed > 0 ? "worse" : "unknown";
  if (newFailing.length > 0) return "new-failing";
  if (mended.length > 0) return "better";
  if (isOnlyUnable(before.counts) && isOnlyUnable(now.counts)) return "same";
  // If no test passed before, none could get worse.
  return before.counts.passed > 0 ? "red-before" : "unknown";
}

/** Whether all tests that could be set up passed. */
function isOnlyUnable({ passed, failed, unable = 0 }: TestCounts): boolean {
  return passed > 0 && unable > 0 && failed === unable;
}

/** Whether a green check that had passing tests shows none now, and its old version does not show them either. */
function hasVanished(before: TestResults | null, draft: CheckResult, old: CheckResult | null): boolean {
  if (before === null || before.counts.passed === 0 || draft.state !== "green") return false;
  if (draft.results !== null && totalTests(draft.results.counts) > 0) return false;
  return old?.state !== "green" || old.results === null;
}

/** Where names are unknown, a lower number of tests is the only sign of a missing one. */
function hasLostTests(before: TestResults | null, now: TestResults | null, old: CheckResult | null): boolean {
  if (before === null || now === null || (before.listed === "all" && now.listed === "all")) return false;
  return totalTests(now.counts) < totalTests(before.counts) && old?.state !== "green";
}

function compare({ baseline, draft, old, demandsSame, isRenamed, unableBefore }: Comparison): Compared {
  const before = baseline.results;
  const now = draft.results;
  if (before === null || now === null) {
    const isGone = draft.state === "green" && before !== null;
    return { ...UNCOMPARED, weakensTests: isGone };
  }
  const results = [before, now, old?.results];
  const names = [...new Set(results.flatMap((one) => [...(one?.tests.keys() ?? [])]))];
  const others = new Set(
    names.flatMap((name) =>
      outcomeIn(before, name) === "absent" && outcomeIn(now, name) === "pass" ? [bareTestName(name)] : [],
    ),
  );
  // Tools may count skipped tests without their names.
  const namesAll = before.listed === "all" && now.listed === "all";
  const total = ({ counts, tests }: TestResults) => totalTests(namesAll ? countTests(tests) : counts);
  const isFewer = total(now) < total(before);
  const renumbered = renumberedCases(names, before, now);
  const lists = Object.fromEntries(TEST_CHANGES.map((key) => [key, []])) as unknown as TestLists;
  for (const name of names) {
    const change = changeOf({
      before: unableBefore.has(name) ? "error" : outcomeIn(before, name),
      now: outcomeIn(now, name),
      old: old === null ? null : outcomeIn(old.results, name),
      isElsewhere: others.has(bareTestName(name)),
      isRenumbered: renumbered.has(name),
      isFewer,
      isFile: /^[^:\s]+$/.test(name) && isTestPath(name),
      demandsSame: demandsSame(name),
      isRenamed: isRenamed(name),
    });
    if (change !== null) lists[change].push(name);
  }
  const moved = new Set(lists.moved.map(bareTestName));
  const newPassing = lists.newPassing.filter(
    (name) => !moved.has(bareTestName(name)) && !renumbered.has(name) && !isRenamed(name),
  );
  return { ...lists, newPassing, weakensTests: lists.weakened.length > 0 };
}

/** Names of table cases that a new row or value changed (`test[styles16-x]`, `Test/#03`); those that differ in the number alone first. */
function renumberedCases(
  names: readonly string[],
  before: TestResults,
  now: TestResults,
): ReadonlySet<string> {
  const between = (one: TestResults, other: TestResults) =>
    names.filter((name) => outcomeIn(one, name) === "pass" && outcomeIn(other, name) === "absent");
  const [gone, come] = [between(before, now), between(now, before)];
  const paired = new Set<string>();
  for (const key of [withoutCaseNumber, tableName]) {
    const isOpen = (name: string) => !paired.has(name);
    const again = Map.groupBy(come.filter(isOpen), key);
    for (const [table, left] of Map.groupBy(gone.filter(isOpen), key)) {
      const pairs = Math.min(left.length, again.get(table)?.length ?? 0);
      for (const list of [left, again.get(table) ?? []])
        for (const name of list.slice(0, pairs)) paired.add(name);
    }
  }
  return paired;
}

const tableName = (name: string) => name.replace(/\[[^[]*\]$/, "");

function withoutCaseNumber(name: string): string {
  const open = name.endsWith("]") ? name.indexOf("[") : -1;
  if (open === -1) return name.replace(/#\d+$/, "#");
  return name.slice(0, open) + name.slice(open).replace(/(?<=[[-][A-Za-z_]*)\d+(?=[-\]])/g, "");
}

/** `unlisted`: the tool names failures only, so the test passed, was skipped or did not exist. `absent`: it did not exist. */
type SeenOutcome = TestOutcome | "unlisted" | "absent";

interface Sightings {
  readonly before: SeenOutcome;
  readonly now: SeenOutcome;
  /** Null where no test was changed. */
  readonly old: SeenOutcome | null;
  /** A new test of the same name in another file or suite passes. */
  readonly isElsewhere: boolean;
  /** The same case has another number in its table. */
  readonly isRenumbered: boolean;
  /** Fewer tests than before: a missing test was removed and not replaced. */
  readonly isFewer: boolean;
  /** The name is that of a whole file, as tools report one that cannot be loaded. */
  readonly isFile: boolean;
  readonly demandsSame: boolean;
  readonly isRenamed: boolean;
}

type TestChange = keyof JudgedTests;
type TestLists = Record<TestChange, string[]>;

export const TEST_CHANGES =
  "worse mended newFailing newPassing stillRed redBefore silenced unable moved expectsElse rewritten weakened".split(
    " ",
  ) as readonly TestChange[];

function changeOf(seen: Sightings): TestChange | null {
  switch (seen.before) {
    case "pass":
      return changeOfPassing(seen);
    case "unlisted":
      if (failsNow(seen.now)) return seen.old !== null && !failsNow(seen.old) ? "newFailing" : "worse";
      return seen.old !== null && failsNow(seen.old) ? "expectsElse" : null;
    case "fail":
    case "error":
      return changeOfFailing(seen);
    case "parent":
      return failsNow(seen.now) ? changeOfPassing(seen) : null;
    case "skip":
      // The exit code judges that.
      return null;
    case "absent":
      if (failsNow(seen.now)) return "newFailing";
      return seen.now === "pass" ? "newPassing" : null;
  }
}

const failsNow = (outcome: SeenOutcome) => outcome === "fail" || outcome === "error";

function changeOfPassing(seen: Sightings): TestChange | null {
  const { now, old, isElsewhere, isRenumbered, isFewer, demandsSame, isRenamed } = seen;
  const oldHolds = old === "unlisted" || holds(old);
  switch (now) {
    case "pass":
    case "parent":
      if (old === null || oldHolds || old === "skip" || isRenamed) return null;
      // If a file moved, or another test does not compile, the old version cannot be loaded, and demands the same.
      return old === "absent" && demandsSame ? null : "expectsElse";
    case "unlisted":
      return null;
    case "fail":
    case "error":
      // The test was changed and its old version still passes: the code is not worse, the test is new.
      return oldHolds ? "newFailing" : "worse";
    case "skip":
      return oldHolds ? "weakened" : "worse";
    case "absent":
      if (old === null) return "worse";
      if (isElsewhere || isRenamed) return "moved";
      if (oldHolds && isRenumbered) return null;
      if (oldHolds) return "weakened";
      // The test has another name and other demands, as after a rename of the code that it tests.
      return isFewer ? "worse" : "expectsElse";
  }
}

function changeOfFailing({ before, now, old, isFewer, isFile }: Sightings): TestChange | null {
  const oldFails = old !== null && failsNow(old) && !isFile;
  switch (now) {
    case "pass":
    case "parent":
    case "unlisted":
      return oldFails ? "rewritten" : "mended";
    case "error":
      return before === "error" ? "unable" : "redBefore";
    case "fail":
      return "redBefore";
    case "skip":
      return "silenced";
    case "absent":
      // A file that could not be loaded before, and whose tests run now, is not a removed test.
      if (isFewer) return "silenced";
      return oldFails ? "rewritten" : null;
  }
}

function outcomeIn(results: TestResults | null, name: string): SeenOutcome {
  if (results === null) return "absent";
  return results.tests.get(name) ?? (results.listed === "all" ? "absent" : "unlisted");
}

export interface JudgeAllInput {
  readonly baseline: readonly CheckResult[] | null;
  readonly draft: readonly CheckResult[];
  readonly old: readonly CheckResult[] | null;
  readonly demandsSame?: JudgeInput["demandsSame"];
  readonly isRenamed?: JudgeInput["isRenamed"];
}

/** Judges all checks of a project as one. `worse` in any check outranks the rest; otherwise tests outrank linters. */
export function judgeAll({
  baseline,
  draft,
  old,
  demandsSame = () => false,
  isRenamed = () => false,
}: JudgeAllInput): Judgement {
  const of = (results: readonly CheckResult[] | null, { command }: CheckResult) =>
    results?.find((one) => one.command === command) ?? null;
  const unableBefore = new Set(
    (baseline ?? []).flatMap(({ results }) =>
      [...(results?.tests ?? [])].flatMap(([name, outcome]) => (outcome === "error" ? [name] : [])),
    ),
  );
  const judged = draft.map((result) => ({
    kind: result.kind,
    ...judgeCheck({
      unableBefore,
      baseline: of(baseline, result),
      draft: result,
      old: of(old, result),
      demandsSame,
      isRenamed,
    }),
  }));
  const all = (key: TestChange) => [...new Set(judged.flatMap((one) => one[key] ?? []))];
  return {
    verdict: combineVerdicts(judged),
    ...(Object.fromEntries(TEST_CHANGES.map((key) => [key, all(key)])) as TestLists),
    weakensTests: judged.some((one) => one.weakensTests),
    counts: judged.find(({ kind, counts }) => kind === "test" && counts !== null)?.counts ?? null,
  };
}

/** If any check has one of these verdicts, it outranks the rest, in this order. */
const LEADING: readonly Verdict[] = ["worse", "still-red", "new-failing", "doubtful"];

function combineVerdicts(judged: readonly { readonly kind: string; readonly verdict: Verdict }[]): Verdict {
  const ran = judged.filter(({ verdict }) => verdict !== "not-checked");
  const has = (verdict: Verdict) => ran.some((one) => one.verdict === verdict);
  const first = LEADING.find(has);
  if (first !== undefined) return first;
  const leading = ran.find(({ kind }) => kind === "test") ?? ran[0];
  if (leading?.verdict === "same" && has("better")) return "better";
  return leading?.verdict ?? "not-checked";
}

/** Joins a red result and its repetition: a test that failed only once is flaky and counts as passed. */
export function settleFlaky(first: CheckResult, second: CheckResult) {
  if (first.state !== "red" && first.state !== "timed-out") return { result: first, isFlaky: false };
  if (second.state === "green") return { result: second, isFlaky: true };
  const before = first.results;
  const after = second.results;
  if (before === null || after === null || before.listed !== "all" || after.listed !== "all")
    return { result: second, isFlaky: false };
  const mended = [...after.tests.keys()].filter(
    (name) => after.tests.get(name) === "fail" && holds(before.tests.get(name)),
  );
  const failedOnce = [...before.tests].filter(
    ([name, outcome]) => outcome === "fail" && holds(after.tests.get(name)),
  );
  if (mended.length === 0) return { result: second, isFlaky: failedOnce.length > 0 };
  return { result: { ...second, results: withPassed(after, mended) }, isFlaky: true };
}

/** The result as if these flaky tests had passed. */
export function countAsPassed(result: CheckResult, names: readonly string[]): CheckResult {
  const read = result.results;
  if (read === null) return result;
  const failed = names.filter((name) => failsNow(read.tests.get(name) ?? "absent"));
  if (failed.length === 0) return result;
  const results = withPassed(read, failed);
  return { ...result, results, state: results.counts.failed === 0 ? "green" : result.state };
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

/** Python's message about a missing module that it was called with. */
const NO_MODULE = /(?:^|\n)\S*python\S*: No module named [\w.]+\s*$/;

/** pytest's exit codes: interrupted collection, internal error, wrong call or a conftest that cannot be loaded, nothing collected. */
const PYTEST_JUDGED_NOTHING: readonly number[] = [2, 3, 4, 5];

/** Make's own last line where the program of a recipe was not found. */
const MAKE_LACKS_PROGRAM = /(?:^|\n)make: \*\*\* \[[^\n]*\] Error 127\s*$/;

function lacksProgram(exitCode: number | null, printed: string): boolean {
  return exitCode === 127 || (exitCode === 2 && MAKE_LACKS_PROGRAM.test(printed));
}

/** The program that a shell or make did not find; null where they report none. */
export function absentProgram(exitCode: number | null, printed: string): string | null {
  if (!lacksProgram(exitCode, printed)) return null;
  const found = /([\w@./+-]+): (?:command )?not found|make: ([\w@./+-]+): No such file/.exec(printed);
  return found?.[1] ?? found?.[2] ?? null;
}

/** The result of a check that ended: a missing program or module shows nothing about the change. */
export function checkRunState(exitCode: number | null, printed: string, line = ""): CheckResult["state"] {
  if (exitCode === 126 || lacksProgram(exitCode, printed) || NO_MODULE.test(printed)) return "cannot-run";
  if (exitCode !== null && / -m pytest /.test(line) && PYTEST_JUDGED_NOTHING.includes(exitCode))
    return "cannot-run";
  return exitCode === 0 ? "green" : "red";
}

/** A check before a change: its result over the current project is null if it did not run. */
export interface KnownCheck {
  readonly command: string;
  readonly result: CheckResult | null;
  readonly seconds?: number;
}

export function failingTests({ results }: CheckResult): string[] {
  return [...(results?.tests ?? [])].flatMap(([name, outcome]) => (outcome === "fail" ? [name] : []));
}
