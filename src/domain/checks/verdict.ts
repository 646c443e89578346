import { isTestPath, type ProjectCheck } from "./find-checks.ts";
import {
  bareTestName,
  type CheckFailure,
  holds,
  type NewTests,
  type TestCounts,
  type TestOutcome,
  type TestResults,
  totalTests,
} from "./test-results.ts";

/** How one check ended. `cannot-run`: its program or its dependencies are not there, which says nothing about the change. */
export interface CheckResult {
  readonly kind: ProjectCheck["kind"];
  readonly command: string;
  readonly state: "green" | "red" | "timed-out" | "cannot-run";
  /** Where the check itself cannot judge here, and another command does in its place. */
  readonly rung?: LowerRung;
  /** The program that is not there. */
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
  /** `home`: it is the same command, and needs what earlier jobs installed in the private home. */
  readonly why: "cannot-run" | "timed-out" | "unread" | "home";
}

/** Whether a result over the current project can serve as a baseline: it has a passed test or a green exit. */
export function judgesBaseline({ state, results }: CheckResult): boolean {
  if (state === "green") return true;
  if (state !== "red" || results === null) return false;
  return results.counts.passed > 0 || failedIn(results).length > 0;
}

/**
 * `same`: green, and not red before. `better`: something was fixed and nothing is worse. `new-failing`: only
 * tests fail that did not exist before. `red-before`: red as it was, nothing worse. `still-red`: as before, and the change is
 * connected with what is red, or was to fix it. `doubtful`: nothing is worse, but the code refers to the test run, a red test passes
 * only as the draft rewrote it, or a test of what was changed is flaky since.
 * `unknown`: red before and after, and the failing tests are unknown.
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

/** Tests by what became of them; a list of an older version is not there. */
interface JudgedTests {
  /** Passed before, and fail now or are gone. Empty where only the exit code tells. */
  readonly worse: readonly string[];
  readonly mended: readonly string[];
  readonly newFailing: readonly string[];
  /** Were not there before, and pass. */
  readonly newPassing?: readonly string[];
  /** Failed before, are connected with the change or were to be fixed by it, and fail or are gone. */
  readonly stillRed?: readonly string[];
  /** Fail as before, and are not connected with the change. */
  readonly redBefore?: readonly string[];
  /** Failed before, and are gone or skipped. */
  readonly silenced?: readonly string[];
  /** Could not be set up, before as now: they say nothing. */
  readonly unable?: readonly string[];
  /** Passed before, and pass below another file or suite. */
  readonly moved?: readonly string[];
  /** Pass, and failed in their old version: the draft demands something else of the code. */
  readonly expectsElse?: readonly string[];
  /** Failed before, and pass only as the draft rewrote them: their old version still fails. */
  readonly rewritten?: readonly string[];
  /** Removed or skipped, so that their assertions no longer run. */
  readonly weakened: readonly string[];
}

export interface Judgement extends JudgedTests {
  readonly verdict: Verdict;
  /** Of the draft. */
  readonly counts: TestCounts | null;
  /** The draft took tests away, or skips them. */
  readonly weakensTests: boolean;
}

export interface JudgeInput {
  /** The check over the workspace before the change; null if it did not run. */
  readonly baseline: CheckResult | null;
  readonly draft: CheckResult;
  /** Over the draft, with the tests that the draft changed in their old version; null where it changed none. */
  readonly old: CheckResult | null;
  /** Of the tests that the draft changed, nothing is another but the paths of what they import. */
  readonly importsOnly?: boolean;
  /** Tests that no check could set up before. */
  readonly unableBefore?: ReadonlySet<string>;
}

const UNCOMPARED = { worse: [], mended: [], newFailing: [], weakened: [], weakensTests: false } as const;

/** One check. The exit code first; where it was red before, test by test. */
export function judgeCheck({
  baseline,
  draft,
  old,
  importsOnly = false,
  unableBefore = new Set(),
}: JudgeInput): Judgement {
  const counts = draft.results?.counts ?? null;
  const ran = baseline?.state === "green" || baseline?.state === "red" ? baseline : null;
  if (draft.state === "cannot-run" || draft.state === "timed-out")
    return { ...UNCOMPARED, counts, verdict: ran === null ? "not-checked" : "worse" };
  if (ran === null) return { ...UNCOMPARED, counts, verdict: draft.state === "green" ? "same" : "unknown" };
  const comparison = { baseline: ran, draft, old, importsOnly, unableBefore };
  const compared = compare(comparison);
  return { ...compared, counts, verdict: compareVerdict(comparison, compared) };
}

type Compared = Omit<Judgement, "verdict" | "counts">;
type Comparison = Required<Omit<JudgeInput, "baseline">> & { readonly baseline: CheckResult };

function compareVerdict({ baseline, draft, old }: Comparison, compared: Compared): Verdict {
  const { worse, mended, newFailing, unable = [] } = compared;
  const wasGreen = baseline.state === "green";
  const before = baseline.results;
  const now = draft.results;
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
  // Where nothing passed, nothing could get worse.
  return before.counts.passed > 0 ? "red-before" : "unknown";
}

/** All tests that could be set up passed. */
function isOnlyUnable({ passed, failed, unable = 0 }: TestCounts): boolean {
  return passed > 0 && unable > 0 && failed === unable;
}

/** Tests were seen and none is any more: the checks as they were must show them, else they were taken away. */
function hasVanished(before: TestResults | null, draft: CheckResult, old: CheckResult | null): boolean {
  if (before === null || before.counts.passed === 0 || draft.state !== "green") return false;
  if (draft.results !== null && totalTests(draft.results.counts) > 0) return false;
  return old?.state !== "green" || old.results === null;
}

/** Where names are not known, fewer tests than before are the only trace of one that is gone. */
function hasLostTests(before: TestResults | null, now: TestResults | null, old: CheckResult | null): boolean {
  if (before === null || now === null || (before.listed === "all" && now.listed === "all")) return false;
  return totalTests(now.counts) < totalTests(before.counts) && old?.state !== "green";
}

function compare({ baseline, draft, old, importsOnly, unableBefore }: Comparison): Compared {
  const before = baseline.results;
  const now = draft.results;
  if (before === null || now === null) {
    const isGone = draft.state === "green" && before !== null;
    return { ...UNCOMPARED, weakensTests: isGone };
  }
  const names = [...namesOf(before, now, old?.results)];
  const others = new Set(
    names.flatMap((name) =>
      outcomeIn(before, name) === "absent" && outcomeIn(now, name) === "pass" ? [bareTestName(name)] : [],
    ),
  );
  const isFewer = totalTests(now.counts) < totalTests(before.counts);
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
      isFile: isTestPath(name),
      importsOnly,
    });
    if (change !== null) lists[change].push(name);
  }
  const moved = new Set(lists.moved.map(bareTestName));
  const newPassing = lists.newPassing.filter(
    (name) => !moved.has(bareTestName(name)) && !renumbered.has(name),
  );
  return { ...lists, newPassing, weakensTests: lists.weakened.length > 0 };
}

/**
 * Cases of a table under another name: behind a row that is added in between, tools count on, as in `test_style[styles16-x]` or
 * `TestStyle/#03`; other values or ids rename a case, and a test that got a table has cases in its place. Both names of each such
 * case, the one that is gone and the one that is new; those that differ by their number alone are paired first.
 */
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

/** `unlisted`: the tool names failures alone, so it passed, was skipped or was not there. `absent`: it was not there. */
type SeenOutcome = TestOutcome | "unlisted" | "absent";

interface Sightings {
  readonly before: SeenOutcome;
  readonly now: SeenOutcome;
  /** Null where no test was changed. */
  readonly old: SeenOutcome | null;
  /** A test of the same name, below another file or suite, is new and passes. */
  readonly isElsewhere: boolean;
  /** The same case has another number in its table. */
  readonly isRenumbered: boolean;
  /** Fewer tests than before: a missing test was removed and not replaced. */
  readonly isFewer: boolean;
  /** It names a whole file, as tools do for one that cannot be loaded. */
  readonly isFile: boolean;
  readonly importsOnly: boolean;
}

type TestChange = keyof JudgedTests;
type TestLists = Record<TestChange, string[]>;

const TEST_CHANGES =
  "worse mended newFailing newPassing stillRed redBefore silenced unable moved expectsElse rewritten weakened".split(
    " ",
  ) as readonly TestChange[];

/** The verdict over one test. */
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
  const { now, old, isElsewhere, isRenumbered, isFewer, importsOnly } = seen;
  const oldHolds = old === "unlisted" || holds(old);
  switch (now) {
    case "pass":
    case "parent":
      if (old === null || oldHolds || old === "skip") return null;
      // Where a file moved, the old version of its test cannot be loaded, and demands the same.
      return old === "absent" && importsOnly ? null : "expectsElse";
    case "unlisted":
      return null;
    case "fail":
    case "error":
      // The test was changed, and its old version still passes: not the code is worse, the test is another one.
      return oldHolds ? "newFailing" : "worse";
    case "skip":
      return oldHolds ? "weakened" : "worse";
    case "absent":
      if (old === null) return "worse";
      if (isElsewhere) return "moved";
      if (oldHolds && isRenumbered) return null;
      if (oldHolds) return "weakened";
      // Its name and what it demands are others now, as when what it tests got another name.
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
      // A file that could not be run, and whose tests run now, is not a test that was taken away.
      if (isFewer) return "silenced";
      return oldFails ? "rewritten" : null;
  }
}

function outcomeIn(results: TestResults | null, name: string): SeenOutcome {
  if (results === null) return "absent";
  return results.tests.get(name) ?? (results.listed === "all" ? "absent" : "unlisted");
}

function namesOf(...results: readonly (TestResults | null | undefined)[]): Set<string> {
  return new Set(results.flatMap((one) => [...(one?.tests.keys() ?? [])]));
}

/** Tests that fail, without those that could not be set up. */
function failedIn({ tests }: TestResults): string[] {
  return [...tests].flatMap(([name, outcome]) => (outcome === "fail" ? [name] : []));
}

export interface JudgeAllInput {
  readonly baseline: readonly CheckResult[] | null;
  readonly draft: readonly CheckResult[];
  readonly old: readonly CheckResult[] | null;
  readonly importsOnly?: boolean;
}

/** All checks of a project as one: what any check finds worse is worse; beyond that, tests say more than linters. */
export function judgeAll({ baseline, draft, old, importsOnly = false }: JudgeAllInput): Judgement {
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
      importsOnly,
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
  const verdicts = ran.map(({ verdict }) => verdict);
  const first = LEADING.find((verdict) => verdicts.includes(verdict));
  if (first !== undefined) return first;
  const leading = ran.find(({ kind }) => kind === "test") ?? ran[0];
  if (leading?.verdict === "same" && verdicts.includes("better")) return "better";
  return leading?.verdict ?? "not-checked";
}

/** Of a red result and its repetition: what failed only once is flaky and counts as passed. */
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

/** The same result where these tests, which are flaky, had passed. */
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

/** As Python says it of a module that it was to run. */
const NO_MODULE = /(?:^|\n)\S*python\S*: No module named [\w.]+\s*$/;

/** Collection was interrupted, pytest broke, it was called wrongly or a conftest cannot be loaded, nothing was collected. */
const PYTEST_JUDGED_NOTHING: readonly number[] = [2, 3, 4, 5];

/** The program that a shell did not find; null where it says nothing of one. */
export function absentProgram(exitCode: number | null, printed: string): string | null {
  if (exitCode !== 127) return null;
  return /([\w@./+-]+): (?:command )?not found/.exec(printed)?.[1] ?? null;
}

/** The result of a check that ended: a missing program or module shows nothing about the change. */
export function checkRunState(exitCode: number | null, printed: string, line = ""): CheckResult["state"] {
  if (exitCode === 126 || exitCode === 127 || NO_MODULE.test(printed)) return "cannot-run";
  if (exitCode !== null && / -m pytest /.test(line) && PYTEST_JUDGED_NOTHING.includes(exitCode))
    return "cannot-run";
  return exitCode === 0 ? "green" : "red";
}

/**
 * Why no check judged a change. `slow`: slower than `checks.auto_limit` by the last measurement. `untrusted`: nothing confines here,
 * and the folder is not trusted. `unavailable`: no throw-away view can be made. `blind`: the tests pass as well with what was changed
 * broken.
 */
export type WhyNotChecked =
  | "no-checks"
  | "never"
  | "slow"
  | "dependencies-missing"
  | "cannot-run"
  | "documentation"
  | "no-change"
  | "red-before"
  | "untrusted"
  | "unavailable"
  | "blind"
  | "aborted";

/** `red` is as before: what got worse is said by the verdict. */
export interface CheckBeside {
  readonly command: string;
  readonly state: CheckResult["state"] | "not-run";
  readonly counts?: TestCounts;
}

/** The commands whose result the verdict and the counts tell. */
export function leadingCommands({
  commands,
  beside = [],
}: Pick<ChecksFacts, "commands" | "beside">): string[] {
  return commands.filter((command) => !beside.some((one) => one.command === command));
}

/** A test, or the command of a check that names none, with the coder's reason. */
export interface ReasonedTest {
  readonly test: string;
  readonly reason: string;
}

/** The facts about checks in a report: which ran, and what they showed. */
export interface ChecksFacts extends Judgement {
  /** Of those that are still red: the coder named none of them, neither as fixed nor as not its own. */
  readonly unnamed?: readonly string[];
  /** Red before and still red, and the coder says why that is not its own. */
  readonly notMine?: readonly ReasonedTest[];
  /** New and failing, as the coder says that they are meant to. */
  readonly meantToFail?: readonly ReasonedTest[];
  /** Gone or skipped, as the coder declares. */
  readonly removed?: readonly string[];
  /** Gone with the code that they test. */
  readonly removedWithCode?: readonly string[];
  /** As people type them. */
  readonly commands: readonly string[];
  /** The checks beside the one whose tests are counted, each with its own result; absent in facts of older versions. */
  readonly beside?: readonly CheckBeside[];
  /** A red result was run again and was another one. */
  readonly isFlaky: boolean;
  /** Checks that ended before the change, and over it not within the limit. */
  readonly unended?: { readonly commands: readonly string[]; readonly seconds: number };
  /** How long the last judgement took, its runs and its wait for others; absent in facts of older versions. */
  readonly seconds?: number;
  /** Formatters of the project that changed files before they were judged. */
  readonly formatted?: readonly string[];
  /** Null where checks judged. */
  readonly notChecked: WhyNotChecked | null;
  /** Checks that are red, and were not before. */
  readonly newlyRed?: readonly string[];
  /** Commands that judged in the place of others. */
  readonly rungs?: readonly (Pick<LowerRung, "insteadOf" | "why"> & { readonly command: string })[];
  /** Programs that are not there. */
  readonly absent?: readonly string[];
  /** The command that installs what the project's checks need. */
  readonly install?: string;
  /** The command that the coder proposed where none of the project's own judges; `why` where that does not either. */
  readonly proposed?: { readonly command: string; readonly why: WhyNotChecked | null };
  /** Files that decide how checks run: with them as they were, the checks are worse. */
  readonly onlyWith?: readonly string[];
  /** Files that its commands installed in the private home: without them the checks are worse. */
  readonly installed?: readonly string[];
  /** New lines outside of tests that refer to the test run. */
  readonly testRunLines?: readonly { readonly path: string; readonly line: string }[];
  /** Changed files that the tests do not notice when they are broken. */
  readonly unnoticed?: readonly string[];
  /** New tests that pass, and how many of them do so without the change as well. */
  readonly newTests?: NewTests;
  /** Tests that were red, and are not always, or were not only with the change. */
  readonly flaky?: readonly string[];
  /** Of these, as far as they belong to what the change touches: never seen red without it. */
  readonly unstable?: readonly string[];
  /** Test files that do not end here without the change either, and were left out. */
  readonly hung?: readonly string[];
  /** The affected tests judged alone; `wholeSeconds` is how long all of them take, or were let run where `isAtLeast`. */
  readonly affectedOnly?: {
    readonly files: number;
    readonly of: number;
    readonly wholeSeconds: number;
    readonly isAtLeast: boolean;
    /** All of them are red before the change and name no test. */
    readonly isUnread?: boolean;
  };
}

/** A check before a change: its result over the current project is null if it did not run. */
export interface KnownCheck {
  readonly command: string;
  readonly result: CheckResult | null;
  readonly seconds?: number;
}

/** The tests of a result that fail, by name. */
export function failingTests({ results }: CheckResult): string[] {
  return [...(results?.tests ?? [])].flatMap(([name, outcome]) => (outcome === "fail" ? [name] : []));
}

/** The installation that may let a check run; null where its own program is missing as well. */
export function helpfulInstall({
  install,
  absent = [],
}: Pick<ChecksFacts, "install" | "absent">): string | null {
  if (install === undefined) return null;
  return absent.includes(install.split(" ", 1)[0] ?? "") ? null : install;
}

/** The sign that checks got worse: no test is left, fewer are, every check is newly red, or some of several. */
export function newlyRedCase({
  newlyRed: red = [],
  commands,
  counts: all,
}: Pick<ChecksFacts, "newlyRed" | "commands" | "counts">):
  | "no-test"
  | "fewer"
  | "newly-red"
  | "newly-red-some" {
  if (red.length === 0) return all === null || totalTests(all) === 0 ? "no-test" : "fewer";
  return commands.length === 1 ? "newly-red" : "newly-red-some";
}

/** Facts without the lists that name nothing: an absent list is one line less to read, and to store. */
export function withoutEmpty<Facts extends object>(facts: Facts): Partial<Facts> {
  const named = Object.entries(facts).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return Object.fromEntries(named) as Partial<Facts>;
}

export function notChecked(why: WhyNotChecked, commands: readonly string[] = []): ChecksFacts {
  return {
    ...UNCOMPARED,
    commands,
    verdict: "not-checked",
    counts: null,
    isFlaky: false,
    notChecked: why,
  };
}
