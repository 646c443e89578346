import type { ProjectCheck } from "./find-checks.ts";
import type { TestCounts, TestOutcome, TestResults } from "./test-results.ts";

/** How one check ended. `cannot-run`: its program or its dependencies are not there, which says nothing about the change. */
export interface CheckResult {
  readonly kind: ProjectCheck["kind"];
  readonly command: string;
  readonly state: "green" | "red" | "timed-out" | "cannot-run";
  /** Null where the format is not known. */
  readonly results: TestResults | null;
}

/**
 * `same`: green, and not red before. `better`: something was mended and nothing is worse. `new-failing`: only tests fail that were not
 * there before. `red-before`: red as it was, nothing worse. `unknown`: red before and after, and nobody can say by which tests.
 */
export type Verdict = "same" | "better" | "worse" | "new-failing" | "red-before" | "unknown" | "not-checked";

export interface Judgement {
  readonly verdict: Verdict;
  /** Tests that passed before, and fail now or are gone. Empty where only the exit code tells. */
  readonly worse: readonly string[];
  readonly mended: readonly string[];
  readonly newFailing: readonly string[];
  /** Of the draft. */
  readonly counts: TestCounts | null;
  /** The draft changed what its tests demand: tests that are gone, or that fail in their old version. */
  readonly weakensTests: boolean;
  readonly weakened: readonly string[];
}

export interface JudgeInput {
  /** The check over the workspace as it stood; null where it did not run. */
  readonly baseline: CheckResult | null;
  readonly draft: CheckResult;
  /** Over the draft, with the tests that the draft changed in their old version; null where it changed none. */
  readonly old: CheckResult | null;
}

const UNCOMPARED = { worse: [], mended: [], newFailing: [], weakened: [], weakensTests: false } as const;

/** One check. The exit code first; where it was red before, test by test. */
export function judgeCheck({ baseline, draft, old }: JudgeInput): Judgement {
  const counts = draft.results?.counts ?? null;
  const ran = baseline?.state === "green" || baseline?.state === "red" ? baseline : null;
  if (draft.state === "cannot-run" || draft.state === "timed-out")
    return { ...UNCOMPARED, counts, verdict: ran === null ? "not-checked" : "worse" };
  if (ran === null) return { ...UNCOMPARED, counts, verdict: draft.state === "green" ? "same" : "unknown" };
  const compared = compare(ran, draft, old);
  return { ...compared, counts, verdict: compareVerdict(ran, draft, old, compared) };
}

type Compared = Omit<Judgement, "verdict" | "counts">;

function compareVerdict(
  baseline: CheckResult,
  draft: CheckResult,
  old: CheckResult | null,
  compared: Compared,
): Verdict {
  const { worse, mended, newFailing } = compared;
  const wasGreen = baseline.state === "green";
  if (draft.state === "green") {
    // Green without a test to be seen, while the checks as they were are red: the checks were taken away.
    const silenced = baseline.results !== null && draft.results === null && old?.state === "red";
    if (worse.length > 0 || (wasGreen && silenced)) return "worse";
    return wasGreen ? "same" : "better";
  }
  if (worse.length > 0) return "worse";
  const onlyNew = newFailing.length > 0 && newFailing.length === draft.results?.counts.failed;
  if (wasGreen) return onlyNew ? "new-failing" : "worse";
  if (baseline.results === null) return "unknown";
  if (draft.results === null) return baseline.results.counts.passed > 0 ? "worse" : "unknown";
  if (hasLostTests(baseline.results, draft.results)) return "worse";
  if (newFailing.length > 0) return "new-failing";
  return mended.length > 0 ? "better" : "red-before";
}

/** Where names are not known, fewer tests than before are the only trace of one that is gone. */
function hasLostTests(before: TestResults, now: TestResults): boolean {
  if (before.listed === "all" && now.listed === "all") return false;
  return total(now.counts) < total(before.counts);
}

const total = ({ passed, failed, skipped }: TestCounts) => passed + failed + skipped;

function compare(baseline: CheckResult, draft: CheckResult, old: CheckResult | null): Compared {
  const before = baseline.results;
  const now = draft.results;
  const oldFails =
    old !== null && old.state !== "green" && baseline.state === "green" && draft.state === "green";
  if (before === null || now === null)
    return { ...UNCOMPARED, weakensTests: oldFails || (draft.state === "green" && before !== null) };
  const worse: string[] = [];
  const newFailing: string[] = [];
  const weakened: string[] = [];
  const inOld = (name: string) => (old === null ? null : outcomeIn(old.results, name));
  for (const name of namesOf(before, now, old?.results)) {
    const kind = changeOf({
      before: outcomeIn(before, name),
      now: outcomeIn(now, name),
      old: inOld(name),
      changedTests: old !== null,
      isGreen: draft.state === "green",
      isFewer: total(now.counts) < total(before.counts),
    });
    if (kind === "worse") worse.push(name);
    else if (kind === "new-failing") newFailing.push(name);
    else if (kind === "weakened") weakened.push(name);
  }
  const mended = failedIn(before).filter((name) => {
    const outcome = outcomeIn(now, name);
    return outcome === "pass" || outcome === "unlisted";
  });
  return { worse, mended, newFailing, weakened, weakensTests: oldFails || weakened.length > 0 };
}

/** `unlisted`: the tool names failures alone, so it passed, was skipped or was not there. `absent`: it was not there. */
type SeenOutcome = TestOutcome | "unlisted" | "absent";

interface Sightings {
  readonly before: SeenOutcome;
  readonly now: SeenOutcome;
  /** Null where no test was changed. */
  readonly old: SeenOutcome | null;
  readonly changedTests: boolean;
  readonly isGreen: boolean;
  /** Fewer tests than before: a failing one that is gone was taken away, and is not a file that can be run now. */
  readonly isFewer: boolean;
}

function changeOf({
  before,
  now,
  old,
  changedTests,
  isGreen,
  isFewer,
}: Sightings): "worse" | "new-failing" | "weakened" | null {
  const oldHolds = old === "pass" || old === "unlisted";
  if (before === "pass") {
    // The test was changed, and its old version still passes: not the code is worse, the test is another one.
    if (now === "fail") return oldHolds ? "new-failing" : "worse";
    if (now === "absent" || now === "skip") {
      // Skipped, or taken away without another in its place, and it fails on the change: that is worse, however green.
      const silenced = old === "fail" && (now === "skip" || isFewer);
      return !silenced && (oldHolds || isGreen) ? "weakened" : "worse";
    }
    return old === "fail" || old === "absent" ? "weakened" : null;
  }
  if (before === "unlisted") {
    if (now === "fail") return changedTests && old !== "fail" ? "new-failing" : "worse";
    return old === "fail" ? "weakened" : null;
  }
  if (before === "fail") return now === "skip" || (now === "absent" && isFewer) ? "weakened" : null;
  return before === "absent" && now === "fail" ? "new-failing" : null;
}

function outcomeIn(results: TestResults | null, name: string): SeenOutcome {
  if (results === null) return "absent";
  return results.tests.get(name) ?? (results.listed === "all" ? "absent" : "unlisted");
}

function namesOf(...results: readonly (TestResults | null | undefined)[]): Set<string> {
  return new Set(results.flatMap((one) => [...(one?.tests.keys() ?? [])]));
}

function failedIn({ tests }: TestResults): string[] {
  return [...tests].flatMap(([name, outcome]) => (outcome === "fail" ? [name] : []));
}

export interface JudgeAllInput {
  readonly baseline: readonly CheckResult[] | null;
  readonly draft: readonly CheckResult[];
  readonly old: readonly CheckResult[] | null;
}

/** All checks of a project as one: what any check finds worse is worse; beyond that, tests say more than linters. */
export function judgeAll({ baseline, draft, old }: JudgeAllInput): Judgement {
  const of = (results: readonly CheckResult[] | null, { command }: CheckResult) =>
    results?.find((one) => one.command === command) ?? null;
  const judged = draft.map((result) => ({
    kind: result.kind,
    ...judgeCheck({ baseline: of(baseline, result), draft: result, old: of(old, result) }),
  }));
  const all = (key: "worse" | "mended" | "newFailing" | "weakened") => judged.flatMap((one) => one[key]);
  return {
    verdict: combineVerdicts(judged),
    worse: all("worse"),
    mended: all("mended"),
    newFailing: all("newFailing"),
    weakened: all("weakened"),
    weakensTests: judged.some((one) => one.weakensTests),
    counts: judged.find(({ kind, counts }) => kind === "test" && counts !== null)?.counts ?? null,
  };
}

function combineVerdicts(judged: readonly { readonly kind: string; readonly verdict: Verdict }[]): Verdict {
  const ran = judged.filter(({ verdict }) => verdict !== "not-checked");
  const verdicts = ran.map(({ verdict }) => verdict);
  if (verdicts.includes("worse")) return "worse";
  if (verdicts.includes("new-failing")) return "new-failing";
  const leading = ran.find(({ kind }) => kind === "test") ?? ran[0];
  if (leading?.verdict === "same" && verdicts.includes("better")) return "better";
  return leading?.verdict ?? "not-checked";
}

export interface SettledResult {
  readonly result: CheckResult;
  readonly isFlaky: boolean;
}

/** Of a red result and its repetition: what failed only once is flaky and counts as passed. */
export function settleFlaky(first: CheckResult, second: CheckResult): SettledResult {
  if (first.state !== "red" && first.state !== "timed-out") return { result: first, isFlaky: false };
  if (second.state === "green") return { result: second, isFlaky: true };
  const before = first.results;
  const after = second.results;
  if (before === null || after === null || before.listed !== "all" || after.listed !== "all")
    return { result: second, isFlaky: false };
  const mended = [...after.tests.keys()].filter(
    (name) => after.tests.get(name) === "fail" && before.tests.get(name) === "pass",
  );
  const failedOnce = [...before.tests].filter(
    ([name, outcome]) => outcome === "fail" && after.tests.get(name) === "pass",
  );
  if (mended.length === 0) return { result: second, isFlaky: failedOnce.length > 0 };
  return { result: { ...second, results: withPassed(after, mended) }, isFlaky: true };
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

/** What a check that came to its end says: a program or a module that is not there says nothing of the change. */
export function checkRunState(exitCode: number | null, printed: string): CheckResult["state"] {
  if (exitCode === 126 || exitCode === 127 || NO_MODULE.test(printed)) return "cannot-run";
  return exitCode === 0 ? "green" : "red";
}

/**
 * Why no check judged a change. `slow`: slower than `checks.auto_limit` by the last measurement. `untrusted`: nothing confines here,
 * and the folder is not trusted. `unavailable`: no throw-away view can be made.
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
  | "aborted";

/** What a report says of checks: which ran, and what they showed. */
export interface ChecksFacts extends Judgement {
  /** As people type them. */
  readonly commands: readonly string[];
  /** A red result was run again and was another one. */
  readonly isFlaky: boolean;
  /** Checks that ended before the change, and over it not within the limit. */
  readonly unended?: { readonly commands: readonly string[]; readonly seconds: number };
  /** Null where checks judged. */
  readonly notChecked: WhyNotChecked | null;
}

export function notChecked(why: WhyNotChecked, commands: readonly string[] = []): ChecksFacts {
  return {
    commands,
    verdict: "not-checked",
    worse: [],
    mended: [],
    newFailing: [],
    weakened: [],
    weakensTests: false,
    counts: null,
    isFlaky: false,
    notChecked: why,
  };
}
