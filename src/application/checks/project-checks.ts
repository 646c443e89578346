import {
  type ChecksFacts,
  notChecked,
  type WhyNotChecked,
} from "../../domain/checks/checks-facts.ts";
import { READ_FOR_CHECKS } from "../../domain/checks/checks-find-checks.ts";
import { settleFlaky } from "../../domain/checks/flaky.ts";
import type { CheckResult, Judgement } from "../../domain/checks/verdict.ts";
import { judgeAll } from "../../domain/checks/judge-all.ts";
import { isDocumentation, isTestPath } from "../../domain/checks/path-kinds.ts";
import type { ProjectCheck } from "../../domain/checks/project-check.ts";
import type { CheckRequest, CheckRun, Draft } from "../jobs/draft.ts";
import type { Baseline } from "./baseline.ts";
import { checkResults } from "./check-results.ts";
import type { CheckSettings } from "./check-settings.ts";

export interface JudgeDraftDeps {
  readonly checks: readonly ProjectCheck[];
  readonly settings: CheckSettings;
  readonly baseline: () => Promise<Baseline>;
  readonly signal: AbortSignal;
  readonly onOutput?: (text: string) => void;
}

export interface DraftJudgement {
  readonly facts: ChecksFacts;
  /** How the checks of the draft ended, for the coder; empty where none ran. */
  readonly runs: readonly CheckRun[];
}

/**
 * Judges what a draft changes:
 *   documentation alone runs nothing → the checks → a red one once more → changed tests in their old version → judgement
 */
export async function judgeDraft(
  parts: JudgeDraftDeps,
  draft: Pick<Draft, "check" | "changes">,
  attempt: number,
): Promise<DraftJudgement> {
  const { checks } = parts;
  const commands = checks.map(({ command }) => command);
  const none = (why: WhyNotChecked): DraftJudgement => ({ facts: notChecked(why, commands), runs: [] });
  const changes = draft.changes();
  if (changes.length === 0) return none("no-change");
  if (changes.every(({ path }) => isDocumentation(path))) return none("documentation");
  const baseline = await parts.baseline();
  if (!baseline.ok) return none(baseline.why);

  const check = (which: readonly ProjectCheck[], more: Partial<CheckRequest> = {}) =>
    draft.check({
      commands: which.map(({ line }) => line),
      over: "draft",
      attempt,
      network: parts.settings.network,
      timeoutSeconds: parts.settings.timeout,
      signal: parts.signal,
      ...(parts.onOutput === undefined ? {} : { onOutput: parts.onOutput }),
      ...more,
    });
  const first = await check(checks);
  if (!first.ok) return none(first.why);
  let runs: readonly CheckRun[] = first.runs;
  let results: readonly CheckResult[] = checkResults(checks, runs);
  let { isFlaky } = baseline;
  let judgement = judgeAll({ baseline: baseline.results, draft: results, old: null });

  const doubtful = checks.filter((_, at) => results[at]?.state === "red" && runs[at]?.repeated !== true);
  if (doubtful.length > 0 && (judgement.verdict === "worse" || judgement.verdict === "new-failing")) {
    const again = await check(doubtful, { withoutBuildLayer: true });
    if (!again.ok) return none(again.why);
    const settled = settleAll(checks, { runs, results, again: again.runs, doubtful });
    ({ runs, results } = settled);
    isFlaky ||= settled.isFlaky;
    judgement = judgeAll({ baseline: baseline.results, draft: results, old: null });
  }

  const tests = checks.filter(({ kind }) => kind === "test");
  const silenced = isSilenced(changes, results, baseline.results);
  const isOfChecks = (path: string) => isTestPath(path) || (silenced && definesChecks(path));
  const asBefore = changes.flatMap(({ path }) => (isOfChecks(path) ? [path] : []));
  if (tests.length > 0 && (silenced || needsOldTests(changes, results, baseline.results))) {
    const old = await check(tests, { asBefore });
    if (!old.ok) return none(old.why);
    judgement = judgeAll({
      baseline: baseline.results,
      draft: results,
      old: checkResults(tests, old.runs),
    });
  }
  return {
    facts: toChecksFacts(judgement, { commands, isFlaky, results, seconds: parts.settings.timeout }),
    runs,
  };
}

function definesChecks(path: string): boolean {
  return READ_FOR_CHECKS.some((name) => name === path);
}

/** Whether a change of what defines the checks left a green one that shows no test any more. */
function isSilenced(
  changes: ReturnType<Draft["changes"]>,
  results: readonly CheckResult[],
  baseline: readonly CheckResult[],
): boolean {
  const shows = (at: number) => (baseline[at]?.results?.counts.passed ?? 0) > 0;
  return (
    changes.some(({ path }) => definesChecks(path)) &&
    results.some((result, at) => result.state === "green" && result.results === null && shows(at))
  );
}

/** New tests alone have no old version; where the tool names failures only, that run still tells which tests are new. */
function needsOldTests(
  changes: ReturnType<Draft["changes"]>,
  results: readonly CheckResult[],
  baseline: readonly CheckResult[],
): boolean {
  const tests = changes.filter(({ path }) => isTestPath(path));
  if (tests.some(({ kind }) => kind !== "added")) return true;
  const isRed = results.some(({ state }) => state === "red");
  const isVague = baseline.some(({ results: read }) => read?.listed === "failed");
  return tests.length > 0 && isRed && isVague;
}

function settleAll(
  checks: readonly ProjectCheck[],
  given: {
    readonly runs: readonly CheckRun[];
    readonly results: readonly CheckResult[];
    readonly again: readonly CheckRun[];
    readonly doubtful: readonly ProjectCheck[];
  },
) {
  const second = checkResults(given.doubtful, given.again);
  const settled = checks.map((check, at) => {
    const first = given.results[at] as CheckResult;
    const place = given.doubtful.indexOf(check);
    const other = second[place];
    const run = given.again[place] ?? (given.runs[at] as CheckRun);
    return { run, ...(other === undefined ? { result: first, isFlaky: false } : settleFlaky(first, other)) };
  });
  return {
    runs: settled.map(({ run }) => run),
    results: settled.map(({ result }) => result),
    isFlaky: settled.some(({ isFlaky }) => isFlaky),
  };
}

function toChecksFacts(
  judgement: Judgement,
  about: {
    readonly commands: readonly string[];
    readonly isFlaky: boolean;
    readonly results: readonly CheckResult[];
    readonly seconds: number;
  },
): ChecksFacts {
  const { commands, isFlaky, results, seconds } = about;
  const endless = results.filter(({ state }) => state === "timed-out").map(({ command }) => command);
  const ran = results.filter(({ state }) => state !== "cannot-run").map(({ command }) => command);
  const why: Partial<Record<Judgement["verdict"], WhyNotChecked>> = {
    "not-checked": results.some(({ state }) => state === "timed-out") ? "slow" : "cannot-run",
    unknown: "red-before",
  };
  return {
    ...judgement,
    commands: ran.length > 0 ? ran : commands,
    isFlaky,
    ...(judgement.verdict === "worse" && endless.length > 0 && { unended: { commands: endless, seconds } }),
    notChecked: why[judgement.verdict] ?? null,
  };
}
