import {
  isDocumentation,
  isKnownCheck,
  isTestPath,
  type ProjectCheck,
  READ_FOR_CHECKS,
} from "../../domain/checks/find-checks.ts";
import { failingOutput } from "../../domain/checks/read-results.ts";
import {
  type CheckResult,
  type ChecksFacts,
  type Judgement,
  judgeAll,
  notChecked,
  settleFlaky,
  type Verdict,
  type WhyNotChecked,
} from "../../domain/checks/verdict.ts";
import type { ChecksMessages } from "../../domain/texts/checks.ts";
import type { CheckRequest, CheckRun, Draft } from "../jobs/draft.ts";
import type { CheckMemory } from "../ports/checks.ts";
import { type Baseline, type CheckSettings, checkResults, measureBaseline } from "./baseline.ts";

interface JudgeDraftDeps {
  readonly checks: readonly ProjectCheck[];
  readonly settings: CheckSettings;
  readonly baseline: () => Promise<Baseline>;
  readonly signal: AbortSignal;
  readonly onOutput?: (text: string) => void;
}

interface DraftJudgement {
  readonly facts: ChecksFacts;
  /** How the checks of the draft ended, for the coder; empty where none ran. */
  readonly runs: readonly CheckRun[];
}

/**
 * Judges what a draft changes:
 *   documentation alone runs nothing → the checks → a red one once more → changed tests in their old version → judgement
 */
async function judgeDraft(
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

const OUTPUT_CHARS = 6000;
const NAMES = 20;

/** One red check, for the coder: the command as the project calls it, what it printed, how it ended. */
export function wordRedCheck({
  command,
  output,
  exitCode,
  outcome,
}: {
  readonly command: string;
  readonly output: string;
  readonly exitCode: number | null;
  readonly outcome?: string;
}): string {
  const end = exitCode === null ? (outcome ?? "it did not end") : `exit code ${exitCode}`;
  return `$ ${command}\n${failingOutput(output, OUTPUT_CHARS)}\n${end}`;
}

/** The first names of tests, and how many more there are; nothing where there are none. */
export function wordTests(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const rest = names.length > NAMES ? [`… and ${names.length - NAMES} more`] : [];
  return [`${title}:\n${[...names.slice(0, NAMES).map((name) => `- ${name}`), ...rest].join("\n")}`];
}

/** What the checks show, for the coder who made the draft: what is worse, and what the red checks printed. */
function wordChecks(facts: ChecksFacts, runs: readonly CheckRun[], checks: readonly ProjectCheck[]): string {
  const red = runs.filter(({ exitCode }) => exitCode !== 0);
  return [
    facts.verdict === "new-failing"
      ? "New tests fail. If they are meant to fail, say so and repeat your answer; else mend them."
      : facts.unended !== undefined
        ? `With your change these checks did not end in ${facts.unended.seconds} seconds, and before it they did: ${facts.unended.commands.join(", ")}.`
        : "The project's own checks are worse than before your change.",
    ...wordTests("Passed before, and fail now or are gone", facts.worse),
    ...wordTests("New and failing", facts.newFailing),
    ...red.map((run) => wordRedCheck({ ...run, command: checkCommandLine(run, checks) })),
  ].join("\n\n");
}

function checkCommandLine({ command }: CheckRun, checks: readonly ProjectCheck[]): string {
  return checks.find(({ line }) => line === command)?.command ?? command;
}

export interface ProjectChecksDeps {
  /** Of `openChecks`. */
  readonly checks: readonly ProjectCheck[];
  readonly settings: CheckSettings;
  readonly memory: CheckMemory;
  readonly texts: ChecksMessages;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly onOutput?: (text: string) => void;
  /** How the baseline is measured; several drafts of one message share it. */
  readonly measure?: typeof measureBaseline;
}

export interface JudgedAttempt {
  /** `unknown`: nobody can say, which the facts explain. */
  readonly verdict: "green" | "red" | "unknown";
  /** For the coder; empty where nothing is red. */
  readonly report: string;
  /** For whoever watches: `3 of 426 fail`. */
  readonly brief: string;
  readonly facts: ChecksFacts;
}

/** The project's checks as the judge of one draft. */
export interface ProjectChecks {
  readonly timeoutSeconds: number;
  /** Starts to measure the baseline, while the coder is being asked. */
  begin(draft: Draft): void;
  /** What the draft has now. Where the workspace changed meanwhile, the baseline is measured anew. */
  judge(draft: Draft, attempt: number): Promise<JudgedAttempt>;
  /** Before a commit: the last judgement, or a new one where the workspace changed since. */
  confirm(draft: Draft, attempt: number): Promise<JudgedAttempt>;
  /** Of the last judgement; null before the first. */
  facts(): ChecksFacts | null;
  /** Whether a command only checks: what it writes must not become part of the change. */
  isCheck(command: string): boolean;
}

export function createProjectChecks(parts: ProjectChecksDeps): ProjectChecks {
  const { checks, settings, memory, texts } = parts;
  let measured: Promise<Baseline> | null = null;
  let last: JudgedAttempt | null = null;
  let sentBack = false;

  function baselineOf(draft: Draft): Promise<Baseline> {
    if (measured === null) {
      measured = (parts.measure ?? measureBaseline)(parts, draft);
      // A draft that ends before anybody asks for its baseline ends that, too.
      measured.catch(() => {});
    }
    return measured;
  }
  async function freshBaseline(draft: Draft): Promise<Baseline> {
    const baseline = await baselineOf(draft);
    if (!baseline.ok || baseline.fingerprint === memory.fingerprint()) return baseline;
    measured = null;
    return baselineOf(draft);
  }
  async function judge(draft: Draft, attempt: number): Promise<JudgedAttempt> {
    const judged = await judgeDraft({ ...parts, baseline: () => freshBaseline(draft) }, draft, attempt);
    const verdict = shortChecksLine(judged, sentBack);
    // New tests that fail are sent back once: to write a failing test may be just what was asked for.
    if (judged.facts.verdict === "new-failing") sentBack = true;
    last = {
      verdict,
      report: verdict === "red" ? wordChecks(judged.facts, judged.runs, checks) : "",
      brief: texts.brief(judged.facts),
      facts: judged.facts,
    };
    return last;
  }
  return {
    timeoutSeconds: settings.timeout,
    begin: (draft) => void baselineOf(draft),
    judge,
    async confirm(draft, attempt) {
      const baseline = await baselineOf(draft);
      const isFresh = !baseline.ok || baseline.fingerprint === memory.fingerprint();
      return last !== null && isFresh ? last : judge(draft, attempt);
    },
    facts: () => last?.facts ?? null,
    isCheck: (command) => isKnownCheck(command, checks),
  };
}

function shortChecksLine({ facts }: DraftJudgement, sentBack: boolean): JudgedAttempt["verdict"] {
  const short: Readonly<Record<Verdict, JudgedAttempt["verdict"]>> = {
    same: "green",
    better: "green",
    "red-before": "green",
    worse: "red",
    "new-failing": sentBack ? "green" : "red",
    unknown: "unknown",
    "not-checked": "unknown",
  };
  return short[facts.verdict];
}
