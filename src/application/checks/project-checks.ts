import { namedPaths, readAskedFor } from "../../domain/checks/asked-for.ts";
import {
  decidesChecks,
  decidingPartOfManifest,
  isAboutDeciding,
} from "../../domain/checks/deciding-files.ts";
import {
  isDocumentation,
  isKnownCheck,
  isTestPath,
  type ProjectCheck,
  READ_FOR_CHECKS,
} from "../../domain/checks/find-checks.ts";
import { createTestCounter, failingOutput } from "../../domain/checks/read-results.ts";
import { findTestRunLines, type TestRunLine } from "../../domain/checks/test-run-lines.ts";
import {
  type AskedFor,
  type CheckResult,
  type ChecksFacts,
  type Judgement,
  judgeAll,
  notChecked,
  settleFlaky,
  type WhyNotChecked,
} from "../../domain/checks/verdict.ts";
import type { ChecksMessages } from "../../domain/texts/checks.ts";
import type { CheckRequest, CheckRun, Draft } from "../jobs/draft.ts";
import type { CheckMemory } from "../ports/checks.ts";
import {
  type Affected,
  type AffectedJudgement,
  findAffected,
  isWorthFirst,
  judgeAffected,
  type RunDraftChecks,
  repeatWorse,
} from "./affected.ts";
import {
  type Baseline,
  type CheckSettings,
  checkResults,
  checksThatJudge,
  measureBaseline,
  recallChecks,
} from "./baseline.ts";
import { type Proofs, proveTests } from "./prove-tests.ts";

interface JudgeDraftDeps {
  readonly checks: readonly ProjectCheck[];
  readonly settings: CheckSettings;
  readonly memory: CheckMemory;
  readonly baseline: () => Promise<Baseline>;
  readonly request: string;
  readonly asked: AskedFor;
  readonly signal: AbortSignal;
  readonly onOutput?: (text: string) => void;
  readonly onProgress?: (progress: CheckProgress) => void;
  readonly now: () => number;
}

/** Checks at work, for whoever watches. */
export interface CheckProgress {
  readonly attempt: number;
  readonly command: string;
  readonly done: number;
  /** As many as the same checks had before the change; null where nobody knows. */
  readonly of: number | null;
  readonly seconds: number;
  /** The test that began or ended last. */
  readonly latest: string;
}

const PROGRESS_MS = 3000;

/** Tells how far a run is until it has ended. */
async function watchRun<T>(
  { now, onProgress, onOutput }: Pick<JudgeDraftDeps, "now" | "onProgress" | "onOutput">,
  about: Pick<CheckProgress, "attempt" | "command" | "of">,
  run: (onOutput: (text: string) => void) => Promise<T>,
): Promise<T> {
  const counter = createTestCounter();
  const from = now();
  const tell = () => {
    const seconds = Math.round((now() - from) / 1000);
    onProgress?.({ ...about, done: counter.done, latest: counter.latest, seconds });
  };
  const timer = setInterval(tell, PROGRESS_MS);
  try {
    return await run((text) => {
      counter.add(text);
      onOutput?.(text);
    });
  } finally {
    clearInterval(timer);
  }
}

/** How many tests these checks had before the change. */
function countBefore({ memory, checks }: JudgeDraftDeps, which: readonly ProjectCheck[]): number | null {
  if (which.some(({ line }) => !checks.some((one) => one.line === line))) return null;
  const counts = recallChecks(memory, checks)?.results?.find(({ results }) => results !== null)?.results
    ?.counts;
  return counts === undefined ? null : counts.passed + counts.failed + counts.skipped;
}

interface DraftJudgement {
  readonly facts: ChecksFacts;
  /** How the checks of the draft ended, for the coder; empty where none ran. */
  readonly runs: readonly CheckRun[];
}

/**
 * Judges what a draft changes:
 *   documentation alone runs nothing → the checks → a red one once more → changed tests in their old version → judgement
 *   → what is green: new tests over the old code, and the tests over a broken change
 */
async function judgeDraft(
  parts: JudgeDraftDeps,
  draft: Pick<Draft, "check" | "changes" | "diff" | "files">,
  attempt: number,
): Promise<DraftJudgement> {
  const { asked } = parts;
  const commands = parts.checks.map(({ command }) => command);
  const none = (why: WhyNotChecked): DraftJudgement => ({ facts: notChecked(why, commands), runs: [] });
  const changes = draft.changes();
  if (changes.length === 0) return none("no-change");
  if (changes.every(({ path }) => isDocumentation(path))) return none("documentation");
  const check = (which: readonly ProjectCheck[], more: Partial<CheckRequest> = {}) => {
    const command = [...new Set(which.map((one) => one.command))].join(", ");
    return watchRun(parts, { attempt, command, of: countBefore(parts, which) }, (onOutput) =>
      draft.check({
        commands: which.map(({ line }) => line),
        over: "draft",
        attempt,
        network: parts.settings.network,
        timeoutSeconds: parts.settings.timeout,
        signal: parts.signal,
        onOutput,
        ...more,
      }),
    );
  };
  const pending = parts.baseline();
  // Where the affected tests are red, nobody waits for it.
  pending.catch(() => {});
  const affected = findAffected(draft);
  const isFirst = isWorthFirst(affected) && !(await isKnownQuick(parts, pending));
  const early = isFirst
    ? await judgeAffected({ checks: parts.checks, check, changes, asked }, affected)
    : null;
  if (early !== null && isRedEarly(early.judgement))
    return toEarlyJudgement(early, commands, parts.settings.timeout);

  const before = { attempt, command: commands.join(", "), of: null };
  const baseline = await watchRun(parts, before, () => pending);
  if (!baseline.ok) {
    if (baseline.why !== "slow") return none(baseline.why);
    const alone = early ?? (await judgeAffected({ checks: parts.checks, check, changes, asked }, affected));
    return alone === null || decidingChanges(draft).length > 0
      ? none("slow")
      : judgeAlone(parts, { alone, check, draft, affected });
  }
  const checks = checksThatJudge(parts.checks, baseline.results);
  const first = await check(checks);
  if (!first.ok) return none(first.why);
  let runs: readonly CheckRun[] = first.runs;
  let results: readonly CheckResult[] = checkResults(checks, runs);
  let { isFlaky } = baseline;
  let judgement = judgeAll({ baseline: baseline.results, draft: results, old: null, asked });

  let flaky: readonly string[] = early?.flaky ?? [];
  const isRed = () => judgement.verdict === "worse" || judgement.verdict === "new-failing";
  const paths = changes.map(({ path }) => path);
  const repeated = isRed() ? await repeatWorse({ checks, results, judgement, check, paths }, affected) : null;
  if (repeated !== null) {
    ({ results } = repeated);
    flaky = [...new Set([...flaky, ...repeated.flaky])];
    judgement = judgeAll({ baseline: baseline.results, draft: results, old: null, asked });
  }
  const doubtful =
    repeated !== null
      ? []
      : checks.filter((_, at) => results[at]?.state === "red" && runs[at]?.repeated !== true);
  if (doubtful.length > 0 && isRed()) {
    const again = await check(doubtful, { withoutBuildLayer: true });
    if (!again.ok) return none(again.why);
    const settled = settleAll(checks, { runs, results, again: again.runs, doubtful });
    ({ runs, results } = settled);
    isFlaky ||= settled.isFlaky;
    judgement = judgeAll({ baseline: baseline.results, draft: results, old: null, asked });
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
      asked,
    });
  }
  const deciding = tests.length === 0 ? [] : decidingChanges(draft);
  let onlyWith: readonly string[] = [];
  if (deciding.length > 0 && judgement.verdict !== "worse") {
    const before = await check(tests, { asBefore: deciding });
    if (!before.ok) return none(before.why);
    const asItWas = judgeAll({
      baseline: baseline.results,
      draft: checkResults(tests, before.runs),
      old: null,
      asked,
    });
    if (isForgedBy(judgement.verdict, asItWas.verdict)) {
      onlyWith = deciding;
      if (!isAboutDeciding(parts.request, deciding)) judgement = asItWas;
    }
  }
  const testRunLines = claimsGreen(judgement.verdict) ? testRunLinesOf(draft) : [];
  if (testRunLines.length > 0) judgement = { ...judgement, verdict: "doubtful" };
  let proofs: Proofs | null = null;
  if (claimsGreen(judgement.verdict)) {
    const noticed = recallChecks(parts.memory, parts.checks)?.noticed ?? [];
    proofs = await proveTests({ checks, results, judgement, check, noticed }, draft, affected);
    rememberNoticed(parts, proofs.noticed);
  }
  const facts = toChecksFacts(judgement, { commands, isFlaky, results, seconds: parts.settings.timeout });
  const named = facts.verdict === "red-before" ? namedByRed(runs, results, changes) : [];
  const rungs = baseline.results.flatMap(({ command, rung }) =>
    rung === undefined ? [] : [{ command, insteadOf: rung.insteadOf, why: rung.why }],
  );
  const absent = [...new Set(baseline.results.flatMap(({ absent: program }) => program ?? []))];
  return {
    facts: {
      ...facts,
      ...(named.length > 0 && { namesChanged: named }),
      ...(rungs.length > 0 && { rungs }),
      ...(absent.length > 0 && { absent }),
      ...(onlyWith.length > 0 && { onlyWith }),
      ...(testRunLines.length > 0 && { testRunLines }),
      ...(proofs !== null && factsOfProofs(proofs)),
      ...(flaky.length > 0 && { flaky }),
    },
    runs,
  };
}

/** Checks that take no longer than this are run whole at once. */
const QUICK_MS = 5000;

/** Whether all of the checks are known to take no time worth saving. */
async function isKnownQuick(
  { memory, checks }: JudgeDraftDeps,
  pending: Promise<Baseline>,
): Promise<boolean> {
  await Promise.race([pending, Promise.resolve()]);
  const record = recallChecks(memory, checks);
  return record !== null && !record.wasEnded && record.durationMs <= QUICK_MS;
}

/** The red of the affected tests, which goes back at once, without the rest. */
function isRedEarly({ verdict, worse, newFailing }: Judgement): boolean {
  return (verdict === "worse" && worse.length > 0) || (verdict === "new-failing" && newFailing.length > 0);
}

function toEarlyJudgement(
  { judgement, results, runs, flaky }: AffectedJudgement,
  commands: readonly string[],
  seconds: number,
): DraftJudgement {
  const facts = toChecksFacts(judgement, { commands, isFlaky: flaky.length > 0, results, seconds });
  return { facts: { ...facts, commands, ...(flaky.length > 0 && { flaky }) }, runs };
}

/** The affected tests are the only judge, where all of them take too long. */
async function judgeAlone(
  parts: JudgeDraftDeps,
  given: {
    readonly alone: AffectedJudgement;
    readonly check: RunDraftChecks;
    readonly draft: Pick<Draft, "changes" | "diff">;
    readonly affected: Affected;
  },
): Promise<DraftJudgement> {
  const { alone, check, draft, affected } = given;
  const { judgement, results, checks } = alone;
  const commands = parts.checks.flatMap(({ kind, command }) => (kind === "test" ? [command] : []));
  const { facts, runs } = toEarlyJudgement(alone, commands, parts.settings.timeout);
  const record = recallChecks(parts.memory, parts.checks);
  const affectedOnly = {
    files: alone.files,
    of: alone.of,
    wholeSeconds: Math.round((record?.durationMs ?? parts.settings.auto_limit * 1000) / 1000),
    isAtLeast: record?.wasEnded ?? true,
  };
  const isGreen = claimsGreen(judgement.verdict);
  const testRunLines = isGreen ? testRunLinesOf(draft) : [];
  if (testRunLines.length > 0)
    return { facts: { ...facts, affectedOnly, verdict: "doubtful", testRunLines }, runs };
  const noticed = record?.noticed ?? [];
  const proofs = isGreen
    ? await proveTests({ checks, results, judgement, check, noticed }, draft, affected)
    : null;
  if (proofs !== null) rememberNoticed(parts, proofs.noticed);
  return { facts: { ...facts, affectedOnly, ...(proofs !== null && factsOfProofs(proofs)) }, runs };
}

function factsOfProofs({ newTests, unnoticed, isBlind }: Proofs): Partial<ChecksFacts> {
  return {
    ...(newTests !== null && { newTests }),
    ...(unnoticed.length > 0 && { unnoticed }),
    ...(isBlind && { verdict: "not-checked", notChecked: "blind" }),
  };
}

function rememberNoticed({ memory, checks }: JudgeDraftDeps, noticed: readonly string[]): void {
  const record = noticed.length === 0 ? null : recallChecks(memory, checks);
  if (record === null) return;
  memory.keep({ ...record, noticed: [...new Set([...(record.noticed ?? []), ...noticed])] });
}

/** Whether a verdict holds only with the draft's own version of what decides. */
function isForgedBy(verdict: Judgement["verdict"], asItWas: Judgement["verdict"]): boolean {
  if (asItWas === "worse" || asItWas === "still-red") return true;
  return claimsGreen(verdict) && (asItWas === "red-before" || asItWas === "unknown");
}

function claimsGreen(verdict: Judgement["verdict"]): boolean {
  return verdict === "same" || verdict === "better";
}

function testRunLinesOf(draft: Pick<Draft, "diff">): TestRunLine[] {
  const text = (bytes: Uint8Array | null | undefined) =>
    bytes == null ? "" : new TextDecoder().decode(bytes);
  return findTestRunLines(
    draft.diff().map(({ path, before, after }) => ({ path, before: text(before), after: text(after) })),
  );
}

/** Files that the draft changed and that the output of a red test names. */
function namedByRed(
  runs: readonly CheckRun[],
  results: readonly CheckResult[],
  changes: ReturnType<Draft["changes"]>,
): string[] {
  const printed = runs.filter((_, at) => results[at]?.kind === "test" && results[at]?.state === "red");
  const output = printed.map(({ whole }) => failingOutput(whole, NAMED_IN_CHARS)).join("\n");
  return namedPaths(
    output,
    changes.map(({ path }) => path),
  );
}

/** Enough for the traces of many tests. */
const NAMED_IN_CHARS = 2_000_000;

/** Files of the draft that decide how checks run, where what decides in them changed. */
function decidingChanges(draft: Pick<Draft, "changes" | "diff">): string[] {
  const paths = draft
    .changes()
    .map(({ path }) => path)
    .filter(decidesChecks);
  if (!paths.some((path) => /(?:^|\/)package\.json$/.test(path))) return paths;
  const differences = draft.diff();
  return paths.filter((path) => {
    const one = differences.find((difference) => difference.path === path);
    if (!path.endsWith("package.json") || one?.before == null || one.after == null) return true;
    const [before, after] = [one.before, one.after].map((bytes) =>
      decidingPartOfManifest(new TextDecoder().decode(bytes)),
    );
    return before !== after;
  });
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

/** The first names of tests, and how many more there are; nothing if there are none. */
export function wordTests(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const rest = names.length > NAMES ? [`… and ${names.length - NAMES} more`] : [];
  return [`${title}:\n${[...names.slice(0, NAMES).map((name) => `- ${name}`), ...rest].join("\n")}`];
}

/**
 * The results of the checks, for the coder who made the draft: regressions, and the output of the red checks.
 */
function wordChecks(facts: ChecksFacts, runs: readonly CheckRun[], checks: readonly ProjectCheck[]): string {
  const red = runs.filter(({ exitCode }) => exitCode !== 0);
  return [
    wordWhatIsRed(facts),
    ...wordTests("Passed before, and fail now or are gone", facts.worse),
    ...wordTests("New and failing", facts.newFailing),
    ...wordTests("Red before, and still red", facts.stillRed ?? []),
    ...(facts.verdict === "red-before" ? wordTests("Red before, and still red", facts.redBefore ?? []) : []),
    ...red.map((run) => wordRedCheck({ ...run, command: checkCommandLine(run, checks) })),
  ].join("\n\n");
}

function wordWhatIsRed(facts: ChecksFacts): string {
  const { verdict, unended, namesChanged = [], onlyWith = [], testRunLines = [] } = facts;
  switch (verdict) {
    case "doubtful": {
      const lines = testRunLines.slice(0, NAMES).map(({ path, line }) => `- ${path}: ${line}`);
      return `The checks pass, but these new lines of code that is no test speak of the test run, so nobody can say what the checks show:\n${lines.join("\n")}\nTake them out and make the code right. If the request needs them, answer with an empty patch and say why; the user is told of them.`;
    }
    case "new-failing":
      return "New tests fail. If they are meant to fail, say so and repeat your answer; else mend them.";
    case "still-red":
      return "These checks were red before, the request is about them, and with your change they are still red.";
    case "red-before":
      return `Nothing is worse, but what was red before is still red, and its output names ${namesChanged.join(", ")}, which you changed. Mend it if it belongs to the request; else answer with an empty patch and say so.`;
    default:
      if (onlyWith.length > 0)
        return `The checks pass only with your change of ${onlyWith.join(", ")}, which decides how they run; with that as it was they are worse. Mend the code, and leave what decides as it is unless the request is about it.`;
      return unended === undefined
        ? "The project's own checks are worse than before your change."
        : `With your change these checks did not end in ${unended.seconds} seconds, and before it they did: ${unended.commands.join(", ")}.`;
  }
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
  /** The user's request: tests that it asks to be fixed must be fixed. */
  readonly request: string;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly onOutput?: (text: string) => void;
  readonly onProgress?: (progress: CheckProgress) => void;
  /** How the baseline is measured; several drafts of one message share it. */
  readonly measure?: typeof measureBaseline;
}

export interface JudgedAttempt {
  /** `unknown`: nobody can say, which the facts explain. */
  readonly verdict: "green" | "red" | "unknown";
  /** It is red only so that the coder looks at it once more; the next time it is not. */
  readonly landsAnyway: boolean;
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
  /** Validates the current draft. If the workspace changed meanwhile, the baseline is measured again. */
  judge(draft: Draft, attempt: number): Promise<JudgedAttempt>;
  /** Before a commit: the last judgement, or a new one where the workspace changed since. */
  confirm(draft: Draft, attempt: number): Promise<JudgedAttempt>;
  /** Whether the workspace still is what the draft was judged over. */
  holds(draft: Draft): Promise<boolean>;
  /** Of the last judgement; null before the first. */
  facts(): ChecksFacts | null;
  /** Whether a command only checks: what it writes must not become part of the change. */
  isCheck(command: string): boolean;
  /** Whether it is exactly what judges every attempt anyway. */
  covers(command: string): boolean;
}

export function createProjectChecks(parts: ProjectChecksDeps): ProjectChecks {
  const { checks, settings, memory, texts } = parts;
  let measured: Promise<Baseline> | null = null;
  let last: JudgedAttempt | null = null;
  let sentBack = false;
  const asked = readAskedFor(parts.request);

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
    const judged = await judgeDraft(
      { ...parts, asked, baseline: () => freshBaseline(draft) },
      draft,
      attempt,
    );
    const verdict = shortVerdict(judged.facts, sentBack);
    // To write a failing test may be just what was asked for, and what was red before may be another matter: both go back once.
    if (goesBackOnce(judged.facts)) sentBack = true;
    last = {
      verdict,
      landsAnyway: verdict === "red" && landsAnyway(judged.facts),
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
      if (last === null || !isFresh) return judge(draft, attempt);
      return last.landsAnyway ? { ...last, verdict: "green", report: "", landsAnyway: false } : last;
    },
    async holds(draft) {
      const baseline = await baselineOf(draft);
      return !baseline.ok || baseline.fingerprint === memory.fingerprint();
    },
    facts: () => last?.facts ?? null,
    isCheck: (command) => isKnownCheck(command, checks),
    covers: (command) => checks.some((check) => command === check.command || command === check.line),
  };
}

function goesBackOnce(facts: ChecksFacts): boolean {
  return facts.verdict === "new-failing" || landsAnyway(facts);
}

/** Nothing is worse: the coder reviews it once more, and then it is committed and reported. */
function landsAnyway({ verdict, namesChanged }: ChecksFacts): boolean {
  return verdict === "doubtful" || (verdict === "red-before" && namesChanged !== undefined);
}

function shortVerdict(facts: ChecksFacts, sentBack: boolean): JudgedAttempt["verdict"] {
  switch (facts.verdict) {
    case "same":
    case "better":
      return "green";
    case "red-before":
    case "new-failing":
    case "doubtful":
      return goesBackOnce(facts) && !sentBack ? "red" : "green";
    case "worse":
    case "still-red":
      return "red";
    case "unknown":
    case "not-checked":
      return "unknown";
  }
}
