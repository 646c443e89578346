/**
 * The judgement of a draft. In: a draft, the project's checks and their results over the old code. Out: `ChecksFacts`, with the runs.
 * First the openings, each of which may end the judgement; then all checks over the draft, and the steps in their order.
 * Invariant: a verdict says nothing that no run over this draft has shown, and a step words nothing: it adds findings.
 */

import { findUnstable } from "../../domain/checks/connected.ts";
import { changesWhatDecides, decidesInHome, findTestRunLines } from "../../domain/checks/deciding-files.ts";
import { type Declaration, resolveDeclarations } from "../../domain/checks/declarations.ts";
import { type ProjectCheck, READ_FOR_CHECKS } from "../../domain/checks/find-checks.ts";
import {
  addFindings,
  type CheckBeside,
  type ChecksFacts,
  type Finding,
  type Found,
  findingsByCode,
  makesOf,
  notChecked,
  type WhyNotChecked,
  withFound,
} from "../../domain/checks/findings.ts";
import { findUnableChecks, withUnable } from "../../domain/checks/outside-cause.ts";
import { decidesChecks, isDocumentation, isTestPath } from "../../domain/checks/path-kinds.ts";
import { createTestCounter } from "../../domain/checks/read-results.ts";
import { findRenamedTests } from "../../domain/checks/renamed-tests.ts";
import { type RedTests, settleRedTests } from "../../domain/checks/settle-red.ts";
import { totalTests } from "../../domain/checks/test-results.ts";
import {
  type CheckResult,
  failingTests,
  findErrorBefore,
  isUnable,
  type Judgement,
  judgeAll,
  settleFlaky,
} from "../../domain/checks/verdict.ts";
import { decodeText } from "../../domain/platform/file-bytes.ts";
import type { Advise } from "../platform/advise.ts";
import type { Baseline, CheckProgress } from "../ports/checks.ts";
import type { CheckRequest, CheckRun, Draft } from "../ports/jobs-draft.ts";
import {
  type Affected,
  type AffectedJudgement,
  findAffected,
  findSameDemands,
  isRed,
  isUnreadRed,
  isWorthFirst,
  judgeAffected,
  NO_TESTS_FOUND,
  onlyAdds,
  type RunDraftChecks,
  repeatWorse,
  runOldFiles,
  toChangedTexts,
  toTexts,
} from "./affected.ts";
import { type BaselineDeps, checkResults, checksThatJudge, proofSeconds, recallChecks } from "./baseline.ts";
import { breakChanges, type ProofDeps, repeatMended, runNewTests, seesChange } from "./prove-tests.ts";
import { judgeExpectedValues, judgeUnpatched } from "./without-tests.ts";

/** The part of a draft that checks use. */
export type JudgedDraft = Pick<Draft, "check" | "changes" | "diff" | "files" | "homes"> &
  Partial<Pick<Draft, "takeIn">>;

export interface JudgeDraftDeps extends BaselineDeps {
  readonly baseline: () => Promise<Baseline>;
  /** The declarations about red tests in the coder's plans so far. */
  readonly declarations: readonly Declaration[];
  /** The paths among these that the message names; default: none. */
  readonly named?: NonNullable<RedTests["named"]>;
  readonly onOutput?: (text: string) => void;
  readonly onProgress?: (progress: CheckProgress) => void;
  readonly advise: Advise;
  /** A command that nobody declared judges by its exit code only after it was red over broken code. */
  readonly mustNotice?: boolean;
  /** Default: all of them. */
  readonly steps?: readonly JudgeStep[];
}

const PROGRESS_MS = 3000;

/** Reports the progress of a run until it ends. A run that usually takes more than a few seconds is reported at its start, too. */
async function watchRun<T>(
  {
    now,
    onProgress,
    onOutput,
    settings,
  }: Pick<JudgeDraftDeps, "now" | "onProgress" | "onOutput" | "settings">,
  about: Pick<CheckProgress, "attempt" | "command" | "run" | "of" | "usual">,
  run: (onOutput: (text: string) => void, silent: AbortSignal) => Promise<T>,
): Promise<T> {
  const counter = createTestCounter();
  const from = now();
  const silence = new AbortController();
  let printed = from;
  const tell = () => {
    // A compiler may be silent for long, a suite that has begun is not.
    if (counter.done > 0 && now() - printed > 2 * settings.auto_limit * 1000) silence.abort();
    const seconds = Math.round((now() - from) / 1000);
    onProgress?.({ ...about, done: counter.done, latest: counter.latest, seconds });
  };
  if ((about.usual ?? 0) * 1000 > PROGRESS_MS) tell();
  const timer = setInterval(tell, PROGRESS_MS);
  try {
    return await run((text) => {
      printed = now();
      counter.add(text);
      onOutput?.(text);
    }, silence.signal);
  } finally {
    clearInterval(timer);
  }
}

/** How many tests these checks had before the change, and how long all of them took. */
function recallRun(
  { memory, checks }: Pick<JudgeDraftDeps, "memory" | "checks">,
  which: readonly ProjectCheck[],
): Pick<CheckProgress, "of" | "usual"> {
  const isPart = which.some(({ line }) => !checks.some((one) => one.line === line));
  const record = isPart ? null : recallChecks(memory, checks);
  const counts = record?.results?.find(({ results }) => results !== null)?.results?.counts;
  return {
    of: counts === undefined ? null : totalTests(counts),
    usual: record === null || record.wasEnded ? null : Math.round(record.durationMs / 1000),
  };
}

export interface DraftJudgement {
  readonly facts: ChecksFacts;
  /** The results of all checks over the draft; absent where not all of them ran. */
  readonly results?: readonly CheckResult[];
  /** The runs over the draft, for the report to the coder; empty where none ran. */
  readonly runs: readonly CheckRun[];
  /** The last lines that red checks without named tests printed before the change. */
  readonly before?: readonly { readonly command: string; readonly tail: string }[];
}

/** The record of one judgement. Each step reads it and adds to it. */
interface Judging {
  readonly deps: JudgeDraftDeps;
  readonly draft: JudgedDraft;
  readonly changes: ReturnType<Draft["changes"]>;
  readonly affected: Affected;
  baseline: Extract<Baseline, { ok: true }>;
  readonly checks: readonly ProjectCheck[];
  readonly check: RunDraftChecks;
  /** The checks need what the draft's commands installed: every further run sees the private home. */
  readonly showHome: () => void;
  runs: readonly CheckRun[];
  results: readonly CheckResult[];
  judgement: Judgement;
  findings: readonly Finding[];
  /** The tests notice no broken file, so they cannot judge. */
  isBlind: boolean;
  /** Tests that failed, passed alone, and passed in no run with the others. */
  unrepeated: readonly string[];
  readonly overOld?: readonly CheckResult[] | undefined;
}

/** Adds findings. A verdict that would land becomes doubtful by each one whose entry says so. */
function add(judging: Judging, more: Found): void {
  judging.findings = addFindings(judging.findings, more);
  const isDoubt = judging.findings.some(({ code }) => code in more && makesOf(code) === "doubtful");
  if (isDoubt && mayLand(judging.judgement.verdict))
    judging.judgement = { ...judging.judgement, verdict: "doubtful" };
}

/** One question about a draft. Deleting its line in the list drops it. */
export interface JudgeStep {
  readonly name: string;
  /** The step needs no result of unaffected tests, so it is also taken where the affected tests judge alone. */
  readonly isForPart?: true;
  /** Why no check can judge; null: the next step follows. */
  readonly take: (judging: Judging) => Promise<WhyNotChecked | null>;
}

/** The order matters: each step may change the judgement of the steps before it. */
export const JUDGE_STEPS: readonly JudgeStep[] = [
  { name: "what the draft's commands installed", take: judgeWithHome },
  { name: "red tests once more", take: repeatRed },
  { name: "fixed tests once more over the old code", take: repeatBaseline },
  { name: "changed tests in their old version", take: judgeOldTests },
  { name: "deciding files in their old version", take: judgeWithOldSettings },
  { name: "old tests without new ones that patch the code", take: judgeWithoutPatches, isForPart: true },
  { name: "expected values outside of the tests", take: judgeOldValues },
  { name: "red tests that the change answers for", take: settleRed },
  { name: "tests that are unstable since the change", take: doubtUnstable, isForPart: true },
  { name: "code that knows of the test run", take: doubtTestRun, isForPart: true },
  { name: "new tests over the old code", take: proveNewTests, isForPart: true },
  { name: "the change broken", take: proveSeen, isForPart: true },
];

/** The facts that are known before the steps. Each opening reads them and adds to them. */
interface Opening {
  readonly deps: JudgeDraftDeps;
  readonly draft: JudgedDraft;
  readonly attempt: number;
  readonly commands: readonly string[];
  readonly check: RunDraftChecks;
  readonly showHome: () => void;
  /** Searched for at the first call, as the old code is first measured at the first call of `pending`. */
  readonly affected: () => Affected;
  readonly pending: () => Promise<Baseline>;
  early: SettledAffected | null;
  baseline: Judging["baseline"] | null;
  /** The affected tests fail as all tests failed before: where a build fails, it fails for all of them. */
  again: readonly CheckRun[] | null;
}

/** One way to judge a draft without the steps, or why nothing can; null where the next opening follows. */
type JudgeOpening = (opening: Opening) => Promise<DraftJudgement | WhyNotChecked | null>;

/** The order matters: an opening is reached only where none before it has judged. */
const JUDGE_OPENINGS: readonly JudgeOpening[] = [judgeUnjudged, judgeEarly, awaitBaseline, judgePart];

/** Judges a draft: by the first opening that can, else by all checks and the steps. */
export async function judgeDraft(
  deps: JudgeDraftDeps,
  draft: JudgedDraft,
  attempt: number,
  { fresh = false }: { readonly fresh?: boolean } = {},
): Promise<DraftJudgement> {
  const opening = openJudging(deps, draft, { attempt, fresh });
  const end = (ended: DraftJudgement | WhyNotChecked): DraftJudgement =>
    typeof ended === "string" ? { facts: notChecked(ended, opening.commands), runs: [] } : ended;
  for (const open of JUDGE_OPENINGS) {
    const ended = await open(opening);
    if (ended !== null) return end(ended);
  }
  const judging = await judgeWhole(opening);
  if (typeof judging === "string") return end(judging);
  for (const step of deps.steps ?? JUDGE_STEPS) {
    const why = await step.take(judging);
    if (why !== null) return end(why);
  }
  // Files that an earlier run built may hide the change: the checks run once more without them.
  if (judging.isBlind && !fresh && judging.runs.some(({ overBuilt }) => overBuilt === true))
    return judgeDraft(deps, draft, attempt, { fresh: true });
  return toDraftJudgement(judging, opening.commands);
}

function openJudging(
  deps: JudgeDraftDeps,
  draft: JudgedDraft,
  about: { readonly attempt: number; readonly fresh: boolean },
): Opening {
  const home = { isWhole: false };
  let affected: Affected | null = null;
  let pending: Promise<Baseline> | null = null;
  return {
    deps,
    draft,
    attempt: about.attempt,
    commands: deps.checks.map(({ command }) => command),
    check: createDraftCheck(deps, draft, { ...about, home }),
    showHome: () => {
      home.isWhole = true;
    },
    affected: () => (affected ??= deps.advise("affected tests", NO_TESTS_FOUND, () => findAffected(draft))),
    pending() {
      pending ??= deps.baseline();
      // An early red verdict returns without awaiting the baseline; its failure must not stay unhandled then.
      pending.catch(() => {});
      return pending;
    },
    early: null,
    baseline: null,
    again: null,
  };
}

async function judgeUnjudged({ deps, draft, commands }: Opening) {
  const why = unjudgedChange(draft);
  if (why === "no-change") return (await judgeUnchanged(deps, draft, commands)) ?? why;
  return deps.settings.enabled === "always" ? null : why;
}

/** Judges by the affected tests, with what the coder declares about them. */
async function judgeByAffected(
  { deps, draft, check, ...opening }: Opening,
  options: { readonly first?: boolean; readonly check?: RunDraftChecks; readonly files?: readonly string[] },
): Promise<SettledAffected | null> {
  const all = opening.affected();
  const affected = { ...all, files: options.files ?? all.files };
  const known = await settledBaseline(opening.pending());
  const checks = known === undefined ? deps.checks : checksThatJudge(deps.checks, known);
  const repeatedMs = deps.settings.auto_limit * 1000;
  const judged = await judgeAffected(
    { checks, check, draft, repeatedMs, ...options, ...(known !== undefined && { known }) },
    affected,
    options,
  );
  if (judged === null) return null;
  const settled = settleByDeclarations({ deps, draft, affected }, judged);
  const { flaky, together = [] } = judged;
  const findings = addFindings([], { ...settled.found, flaky, together });
  return { ...judged, judgement: settled.judgement, findings, isBlind: false };
}

async function judgeEarly(opening: Opening) {
  const { deps, draft } = opening;
  const pending = opening.pending();
  if (!isWorthFirst(opening.affected()) || (await isKnownQuick(deps, pending))) return null;
  const { touched, near, files } = opening.affected();
  const record = recallChecks(deps.memory, deps.checks);
  // Where all tests may follow, only those that the change touches run twice with runners that cannot leave files out.
  const isKnown = record !== null && !record.wasEnded;
  const first = touched.length > 0 || isKnown ? touched : near;
  const limit = { timeoutSeconds: deps.settings.timeout, isExact: true };
  const check: RunDraftChecks = (which, more) => opening.check(which, { ...limit, ...more });
  const affected = { ...opening.affected(), narrow: opening.affected().cheaply };
  opening.early = await judgeByAffected(isKnown ? opening : { ...opening, affected: () => affected }, {
    first: true,
    files: first.length > 0 ? first : files,
    ...(!isKnown && { check }),
  });
  // The draft's commands may have installed the package that these tests miss: then all tests judge.
  const hasInstalled = (draft.homes?.()?.own ?? []).length > 0;
  const { early } = opening;
  return early !== null && isRedEarly(early) && !hasInstalled ? toEarlyJudgement(early, deps) : null;
}

async function awaitBaseline(opening: Opening): Promise<WhyNotChecked | null> {
  const { deps, attempt, commands } = opening;
  const about = {
    ...recallRun(deps, deps.checks),
    attempt,
    command: commands.join(", "),
    run: "old-code" as const,
    of: null,
  };
  const baseline = await watchRun(deps, about, opening.pending);
  if (baseline.ok) opening.baseline = baseline;
  return baseline.ok || baseline.why === "slow" || baseline.why === "unended" ? null : baseline.why;
}

/** Where all tests take too long, or are red without naming any, the affected tests judge alone. */
async function judgePart(opening: Opening): Promise<DraftJudgement | WhyNotChecked | null> {
  const { deps, draft, baseline } = opening;
  const isUnread = baseline !== null && isUnreadRed(baseline.results);
  if (baseline !== null && !isUnread) return null;
  const alone = decidingChanges(draft).length > 0 ? null : await climbFiles(opening);
  if (alone?.isAsBefore === true) opening.again = alone.runs;
  else if (alone !== null)
    return judgeAlone({ deps, draft, changes: draft.changes(), ...alone }, alone, isUnread);
  if (baseline !== null) return null;
  const slow = await opening.pending();
  return slow.ok ? null : slow.why;
}

/**
 * Runs the affected tests from the smallest part up: those that the change touches, then as many of the others as the time allows: those
 * beside its sources, and the best first. A red part ends it, and so does one that does not end in what is left of the time. The
 * verdict is then that of the part before. Null where no part judges.
 */
async function climbFiles(opening: Opening) {
  const { settings, now } = opening.deps;
  const affected = { ...opening.affected(), narrow: opening.affected().cheaply };
  const { near, touched, files, ranked } = affected;
  const from = now();
  let judged: (SettledAffected & Pick<Judging, "affected" | "check">) | null = null;
  // Where one of these judges nothing, the next may.
  const starts = [touched, near, files].filter(
    ({ length }, at, all) => length > 0 && length !== all[at - 1]?.length,
  );
  for (let part = starts.shift() ?? []; part.length > 0; ) {
    const isFirst = judged === null;
    const left = LADDER_SECONDS - (now() - from) / 1000;
    const limit = {
      timeoutSeconds: isFirst ? settings.timeout : Math.min(settings.timeout, left),
      isExact: true,
    };
    const check: RunDraftChecks = (which, more) => opening.check(which, { ...limit, ...more });
    const next = await judgeByAffected({ ...opening, affected: () => affected }, { check, files: part });
    if (next?.isAsBefore === true) return { ...next, affected: { ...affected, files: part }, check };
    const isJudged = next !== null && !["unknown", "not-checked"].includes(next.judgement.verdict);
    const isCut = !isFirst && next?.results.some(({ state }) => state === "timed-out") === true;
    if (isJudged && !isCut) judged = { ...next, affected: { ...affected, files: part }, check };
    if (judged === null) {
      part = starts.shift() ?? [];
      continue;
    }
    if (isCut || isRed(judged)) break;
    const most = findNextRung(part.length, judged.runs, (now() - from) / 1000);
    if (ranked.length === part.length || most <= part.length) break;
    part = ranked.slice(0, most);
  }
  return judged;
}

/** How many files the next part may have: at the pace of this one, over the draft and over the old code, it ends in time. */
function findNextRung(files: number, runs: readonly CheckRun[], seconds: number): number {
  // Runs from memory took their time earlier.
  const ran = runs.reduce((sum, { durationMs }) => sum + durationMs, 0) / 500;
  return Math.floor((Math.max(0, LADDER_SECONDS - seconds) * files) / Math.max(ran, seconds, 1));
}

/** Runs all checks over the draft. */
async function judgeWhole(opening: Opening): Promise<Judging | WhyNotChecked> {
  const { deps, draft, check, showHome, early, again, baseline } = opening;
  if (baseline === null) return "unavailable";
  const checks = checksThatJudge(deps.checks, baseline.results);
  const first = again === null ? await check(checks) : { ok: true as const, runs: again };
  if (!first.ok) return first.why;
  const results = again === null ? checkResults(checks, first.runs) : baseline.results;
  const changes = draft.changes();
  const { declarations } = deps;
  const paths = changes.map(({ path }) => path);
  const cannotRun = findUnableChecks(baseline.results, results, { paths, declarations });
  const settle = (list: readonly CheckResult[]) => list.map((one) => withUnable(one, cannotRun));
  const [before, now] = [settle(baseline.results), settle(results)];
  return {
    deps,
    draft,
    changes,
    affected: opening.affected(),
    baseline: { ...baseline, results: before },
    checks,
    check,
    showHome,
    runs: first.runs,
    results: now,
    judgement: judgeAll({ baseline: before, draft: now, old: null }),
    findings: addFindings([], { flaky: early?.flaky ?? [], cannotRun }),
    isBlind: false,
    unrepeated: [],
  };
}

/** Runs lines over the draft, and says so while they run. */
export function createDraftCheck(
  deps: Omit<JudgeDraftDeps, "baseline" | "declarations">,
  draft: JudgedDraft,
  about: { readonly attempt: number; readonly fresh: boolean; readonly home: { readonly isWhole: boolean } },
): RunDraftChecks {
  const { attempt, fresh, home } = about;
  const begun = new Set<string>();
  /** The name of a run among those of its command: each has figures of its own, and none of them goes backwards. */
  const nameRun = (which: readonly ProjectCheck[], more: Partial<CheckRequest>): CheckProgress["run"] => {
    const { asBefore, again } = more;
    const isWhole = draft.changes().every(({ path }) => asBefore?.includes(path) === true);
    if (asBefore !== undefined) return isWhole ? "old-code" : "old-files";
    const isPart = which.some(({ command, line }) =>
      deps.checks.some((one) => one.command === command && one.line !== line),
    );
    return again === true ? (isPart ? "alone" : "again") : isPart ? "part" : undefined;
  };
  return (which, more = {}) => {
    const command = [...new Set(which.map((one) => one.command))].join(", ");
    const name = nameRun(which, more);
    const key = `${command}\n${name}`;
    const run = name ?? (begun.has(key) ? "again" : undefined);
    begun.add(key);
    const progress = { ...recallRun(deps, which), attempt, command, ...(run !== undefined && { run }) };
    return watchRun(deps, progress, (onOutput, silent) =>
      draft.check({
        commands: which.map(({ line }) => line),
        over: "draft",
        attempt,
        network: deps.settings.network,
        timeoutSeconds: deps.settings.timeout,
        signal: deps.signal,
        onOutput,
        home: home.isWhole || which.some((one) => one.home === "whole") ? "whole" : "bare",
        withoutBuildLayer: fresh,
        // Without a known time, the limit is long: a test that hangs ends earlier.
        ...(more.isExact === true && { enough: silent }),
        ...more,
      }),
    );
  };
}

function judgeAgain(judging: Judging, more: Partial<Parameters<typeof judgeAll>[0]> = {}): Judgement {
  const { baseline, results } = judging;
  return judgeAll({ baseline: baseline.results, draft: results, old: null, ...more });
}

/** Repeats red checks with the private home: its new files may be packages that the checks need, or decide how they run. */
async function judgeWithHome(judging: Judging): Promise<WhyNotChecked | null> {
  const { draft, checks, check } = judging;
  const { own: traces = [], programs = [] } = draft.homes?.() ?? {};
  if (traces.length + programs.length === 0 || claimsGreen(judging.judgement.verdict)) return null;
  const whole = await check(checks, { home: "whole" });
  if (!whole.ok) return whole.why;
  const results = checkResults(checks, whole.runs);
  const judgement = judgeAgain(judging, { draft: results });
  if (!claimsGreen(judgement.verdict)) return null;
  const deciding = [...traces.filter(decidesInHome).map((path) => `~/${path}`), ...programs];
  if (deciding.length > 0) {
    add(judging, { onlyWith: deciding });
    return null;
  }
  judging.showHome();
  add(judging, { installed: traces.map((path) => `~/${path}`) });
  Object.assign(judging, { runs: whole.runs, results, judgement });
  return null;
}

/** Repeats what is red: the failing tests alone where the output names them, else the whole check. */
async function repeatRed(judging: Judging): Promise<WhyNotChecked | null> {
  if (!isRed(judging)) return null;
  const { deps, checks, check, affected, runs, results } = judging;
  const repeatedMs = deps.settings.auto_limit * 1000;
  const repeated = await repeatWorse({ ...judging, repeatedMs }, affected);
  if (repeated !== null) {
    judging.results = repeated.results;
    const { flaky = [] } = findingsByCode(judging);
    const { together, unrepeated } = repeated;
    const others = flaky.filter((test) => !together.includes(test));
    add(judging, { flaky: [...new Set([...others, ...repeated.flaky])], together });
    judging.unrepeated = unrepeated;
    judging.judgement = judgeAgain(judging);
    return null;
  }
  const doubtful = checks.filter((_, at) => results[at]?.state === "red");
  if (doubtful.length === 0) return null;
  const again = await check(doubtful, { again: true });
  if (!again.ok) return again.why;
  const second = checkResults(doubtful, again.runs);
  const settled = checks.map((one, at) => {
    const place = doubtful.indexOf(one);
    const [first, other] = [results[at] as CheckResult, second[place]];
    const run = again.runs[place] ?? (runs[at] as CheckRun);
    return { run, ...(other === undefined ? { result: first, isFlaky: false } : settleFlaky(first, other)) };
  });
  judging.runs = settled.map(({ run }) => run);
  judging.results = settled.map(({ result }) => result);
  if (settled.some(({ isFlaky }) => isFlaky)) add(judging, { isFlaky: true });
  judging.judgement = judgeAgain(judging);
  return null;
}

/** Repeats the tests that the change seems to fix over the old code: a test that was red by chance is not fixed. */
async function repeatBaseline(judging: Judging): Promise<null> {
  if (judging.judgement.verdict !== "better") return null;
  const { baseline, checks, check, affected } = judging;
  const { mended } = judging.judgement;
  const repeated = await repeatMended({ checks, results: baseline.results, names: mended, check }, affected);
  if (repeated === null) return null;
  judging.baseline = { ...baseline, results: repeated };
  add(judging, { isFlaky: true });
  judging.judgement = judgeAgain(judging);
  return null;
}

/** Runs changed tests in their old version. */
async function judgeOldTests(judging: Judging): Promise<WhyNotChecked | null> {
  const { draft, changes, results, baseline, check, checks, affected, judgement } = judging;
  const tests = checks.filter(({ kind }) => kind === "test");
  const silenced = isSilenced(changes, results, baseline.results);
  if (tests.length === 0 || isUnreadRed(baseline.results)) return null;
  if (!silenced && !needsOldTests(judging)) return null;
  const isOfChecks = (path: string) => isTestPath(path) || (silenced && READ_FOR_CHECKS.includes(path));
  const asBefore = changes.flatMap(({ path }) => (isOfChecks(path) ? [path] : []));
  const about = { asBefore, draft, fixed: judgement.mended };
  const judged = { checks, results, baseline: baseline.results, check };
  const alone = silenced ? null : await runOldFiles(judged, affected, about);
  const old = alone === null ? await check(tests, { asBefore }) : null;
  if (old?.ok === false) return old.why;
  judging.judgement = judgeAgain(judging, {
    old: alone ?? checkResults(tests, old?.runs ?? []),
    demandsSame: findSameDemands(draft, affected.texts),
    isRenamed: findRenamedTests(toChangedTexts(draft)),
  });
  return null;
}

/** Runs the checks with the deciding files as they were before. */
async function judgeWithOldSettings(judging: Judging): Promise<WhyNotChecked | null> {
  const { draft, deps, check } = judging;
  const tests = judging.checks.filter(({ kind }) => kind === "test");
  const deciding = tests.length === 0 ? [] : decidingChanges(draft);
  if (deciding.length === 0 || judging.judgement.verdict === "worse") return null;
  const before = await check(tests, { asBefore: deciding });
  if (!before.ok) return before.why;
  const asItWas = judgeAgain(judging, { draft: checkResults(tests, before.runs) });
  if (!isForgedBy(judging.judgement.verdict, asItWas.verdict)) return null;
  add(judging, { onlyWith: deciding });
  const declared = resolveDeclarations(deps.declarations, new Map(deciding.map((path) => [path, [path]])));
  if (deciding.every((path) => declared.get(path)?.kind === "changes-checks")) return null;
  const oldResults = checkResults(tests, before.runs);
  const results = judging.results.map(
    (one, at) => oldResults[tests.indexOf(judging.checks[at] as ProjectCheck)] ?? one,
  );
  // A check that is green only with the draft's version of deciding files is not fixed.
  const verdict = asItWas.verdict === "worse" ? ("worse" as const) : ("still-red" as const);
  Object.assign(judging, { judgement: { ...asItWas, verdict }, runs: before.runs, results });
  return null;
}

/** Runs old tests without the change's tests, where those replace parts of the code for the rest of the run. */
async function judgeWithoutPatches(judging: Judging): Promise<null> {
  if (!mayLand(judging.judgement.verdict)) return null;
  const found = await judgeUnpatched({ ...judging, before: judging.baseline.results });
  if (found === null) return null;
  const { worse, patches, runs, results, which } = found;
  const counts = results.find((one) => one.results !== null)?.results?.counts ?? judging.judgement.counts;
  judging.judgement = { ...judging.judgement, verdict: "worse", worse, counts };
  const ofCheck = (one: CheckResult, at: number) =>
    results[which.indexOf(judging.checks[at] as ProjectCheck)] ?? one;
  Object.assign(judging, { runs, results: judging.results.map(ofCheck) });
  add(judging, { patches });
  return null;
}

/** Runs tests with the values that they expected before, where those are in files outside of the tests. */
async function judgeOldValues(judging: Judging): Promise<null> {
  if (!mayLand(judging.judgement.verdict)) return null;
  const judged = await judgeExpectedValues({ ...judging, before: judging.baseline.results });
  if (judged !== null) judging.judgement = judged;
  return null;
}

function settleByDeclarations(
  {
    deps: { declarations, named = () => [] },
    draft,
    affected: { texts },
  }: Pick<Judging, "deps" | "draft" | "affected">,
  judged: Pick<RedTests, "before" | "checks" | "results" | "judgement">,
) {
  const diff = toChangedTexts(draft);
  return settleRedTests({
    ...judged,
    declarations,
    changed: diff.map(({ path }) => path),
    texts,
    diff,
    named,
  });
}

/** Decides which red tests the change is responsible for, by facts and by what the coder declares. */
async function settleRed(judging: Judging): Promise<null> {
  const settled = settleByDeclarations(judging, { ...judging, before: judging.baseline.results });
  judging.judgement = settled.judgement;
  add(judging, settled.found);
  return null;
}

/** The coder reviews a test of the changed code that became flaky, and each that passed in no run with the others. */
async function doubtUnstable(judging: Judging): Promise<null> {
  const { baseline, results, changes, affected, unrepeated } = judging;
  const { flaky = [] } = findingsByCode(judging);
  const changed = changes.map(({ path }) => path);
  const connected = findUnstable(flaky, {
    before: baseline.results,
    results,
    changed,
    texts: affected.texts,
  });
  const unstable = mayLand(judging.judgement.verdict) ? [...new Set([...connected, ...unrepeated])] : [];
  add(judging, { unstable });
  return null;
}

/** Code that detects a test run can return the results that the tests expect. */
async function doubtTestRun(judging: Judging): Promise<null> {
  const { verdict } = judging.judgement;
  const isAsked = mayLand(verdict) || verdict === "doubtful";
  add(judging, { testRunLines: isAsked ? findTestRunLines(toTexts(judging.draft)) : [] });
  return null;
}

/** Runs new tests over the old code: one that passes there does not test the change. */
async function proveNewTests(judging: Judging): Promise<null> {
  if (!mayLand(judging.judgement.verdict)) return null;
  const proof = toProofDeps(judging);
  const newTests = await judging.deps.advise("new tests on the old code", null, () => runNewTests(proof));
  if (newTests !== null) add(judging, { newTests });
  return null;
}

/** Breaks the changed files and runs the tests, where nothing else shows that the tests depend on the change. */
async function proveSeen(judging: Judging): Promise<null> {
  const { deps, judgement } = judging;
  const proof = toProofDeps(judging);
  const { newTests } = findingsByCode(judging);
  if (!mayLand(judgement.verdict) || seesChange(proof, newTests)) return null;
  const known = recallChecks(deps.memory, deps.checks)?.noticed ?? [];
  const isBare = deps.mustNotice === true && judging.results.every(({ results }) => results === null);
  const broken = await deps.advise("canary", null, () => breakChanges({ ...proof, isBare }, known));
  if (isBare && broken === null) judging.isBlind = true;
  if (broken === null) return null;
  const { unnoticed, noticed, isBlind } = broken;
  add(judging, { unnoticed });
  judging.isBlind = isBlind || (isBare && noticed.length === 0);
  rememberNoticed(deps, noticed);
  return null;
}

function toProofDeps({
  deps,
  draft,
  affected,
  checks,
  results,
  judgement,
  check,
  runs,
  overOld,
}: Judging): ProofDeps {
  const longestMs = Math.max(0, ...runs.map(({ durationMs }) => durationMs));
  const limit = proofSeconds(longestMs, deps.settings.timeout);
  // A test script that the draft replaced may notice nothing: the old version of deciding files gives the proof.
  const deciding = decidingChanges(draft);
  const asBefore: RunDraftChecks = (which, more = {}) =>
    check(which, { ...more, asBefore: [...(more.asBefore ?? []), ...deciding] });
  const proving = deciding.length === 0 ? check : asBefore;
  return { draft, affected, checks, results, judgement, check: proving, limit, overOld };
}

function toDraftJudgement(judging: Judging, commands: readonly string[]): DraftJudgement {
  const { baseline, results, runs } = judging;
  const beside = findBeside(judging.judgement, results);
  const wasGreen = (command: string) =>
    baseline.results.some((one) => one.command === command && one.state === "green");
  const newlyRed = results.flatMap(({ state, command }) =>
    state === "red" && wasGreen(command) ? [command] : [],
  );
  const rungs = baseline.results.flatMap(({ command, rung }) => {
    const { line: _, ...about } = rung ?? { line: "" };
    return "why" in about ? [{ command, ...about }] : [];
  });
  const ofTests = baseline.results.filter(({ kind }) => kind === "test");
  const judges = ofTests.length > 0 ? ofTests : baseline.results;
  const absent = [...new Set(judges.flatMap(({ absent: program }) => program ?? []))];
  return {
    facts: toChecksFacts(judging, commands, { beside, newlyRed, rungs, absent, before: baseline.results }),
    runs,
    before: baseline.results.flatMap(({ command, failure }) =>
      failure === undefined || failure.tail === "" ? [] : [{ command, tail: failure.tail }],
    ),
    // A test that is unstable now shows nothing about the next change.
    ...(findingsByCode(judging).unstable === undefined && {
      results: results.map((result, at) => {
        const rung = baseline.results[at]?.rung;
        return rung === undefined ? result : { ...result, rung };
      }),
    }),
  };
}

/** Why no check judges a change, by its paths alone; null where checks do. */
export function unjudgedChange(draft: Pick<Draft, "changes">): WhyNotChecked | null {
  const changes = draft.changes();
  if (changes.length === 0) return "no-change";
  return changes.every(({ path }) => isDocumentation(path)) ? "documentation" : null;
}

/** A draft without changes is still red where the coder declared that it fixes red tests; null elsewhere. */
async function judgeUnchanged(
  deps: JudgeDraftDeps,
  { files }: JudgedDraft,
  commands: readonly string[],
): Promise<DraftJudgement | null> {
  const fixed = deps.declarations.filter(({ kind }) => kind === "fixes");
  if (fixed.length === 0) return null;
  const before = await deps.baseline();
  if (!before.ok) return null;
  const { results } = before;
  const judgement = judgeAll({ baseline: results, draft: results, old: null });
  const texts = new Map(
    fixed.flatMap(({ text: path }) => {
      const text = files.look(path).kind === "file" ? decodeText(files.read(path)) : null;
      return text === null ? [] : [[path, text] as const];
    }),
  );
  // Where a command names no test, the declared file of tests is what it runs.
  const unread = texts.size === 0 ? [] : results.filter((one) => isUnreadRed([one]));
  const declarations = [
    ...deps.declarations,
    ...unread.map(({ command }) => ({ kind: "fixes" as const, text: command })),
  ];
  const red = { ...deps, declarations, before: results, results, judgement };
  const settled = settleRedTests({ ...red, texts, changed: [] });
  if (settled.judgement.verdict !== "still-red") return null;
  const judged = { runs: [], results, judgement: settled.judgement, findings: [], isBlind: false };
  return { facts: toChecksFacts(judged, commands, settled.found), runs: [] };
}

/** The time for affected tests where they judge alone, beyond the first part of them. */
const LADDER_SECONDS = 60;

/** The baseline's results if it has been measured by now; does not wait for them. */
async function settledBaseline(pending: Promise<Baseline>): Promise<readonly CheckResult[] | undefined> {
  const baseline = await Promise.race([pending, Promise.resolve(null)]);
  return baseline?.ok === true ? baseline.results : undefined;
}

/** Checks that take no longer than this run whole, without the affected tests first. */
const QUICK_MS = 5000;

async function isKnownQuick(deps: JudgeDraftDeps, pending: Promise<Baseline>): Promise<boolean> {
  await settledBaseline(pending);
  const record = recallChecks(deps.memory, deps.checks);
  return record !== null && !record.wasEnded && record.durationMs <= QUICK_MS;
}

/** Whether a red result of the affected tests is sent back to the coder at once, without a run of the others. */
function isRedEarly({ judgement: { verdict, worse, newFailing }, results }: SettledAffected): boolean {
  const isNamed = worse.length > 0 || results.some(({ state }) => state === "timed-out");
  return (verdict === "worse" && isNamed) || (verdict === "new-failing" && newFailing.length > 0);
}

type SettledAffected = AffectedJudgement & Pick<Judging, "findings" | "isBlind">;

function toEarlyJudgement(judged: SettledAffected, deps: JudgeDraftDeps): DraftJudgement {
  const { runs, flaky } = judged;
  const commands = deps.checks.flatMap(({ kind, command }) => (kind === "test" ? [command] : []));
  const beside = deps.checks.flatMap(({ kind, command }) =>
    kind === "test" ? [] : [{ command, state: "not-run" as const }],
  );
  const found = { isFlaky: flaky.length > 0, flaky, beside };
  return { facts: { ...toChecksFacts(judged, commands, found), commands }, runs };
}

/** The affected tests judge alone, because the whole suite takes too long or is red without naming tests. */
async function judgeAlone(
  about: Pick<Judging, "deps" | "draft" | "changes" | "affected" | "check">,
  alone: SettledAffected,
  isUnread: boolean,
): Promise<DraftJudgement> {
  const { deps } = about;
  const record = recallChecks(deps.memory, deps.checks);
  const baseline = { ok: true, fingerprint: "", results: alone.before } as const;
  const { unrepeated = [] } = alone;
  const judging: Judging = { ...about, ...alone, unrepeated, baseline, showHome: () => {} };
  for (const step of deps.steps ?? JUDGE_STEPS) if (step.isForPart === true) await step.take(judging);
  const { facts, runs } = toEarlyJudgement({ ...alone, ...judging }, deps);
  const passed = judging.judgement.counts?.passed ?? 0;
  const affectedOnly = {
    files: alone.files,
    affected: about.affected.ranked.length,
    of: alone.of,
    wholeSeconds: Math.round((record?.durationMs ?? deps.settings.auto_limit * 1000) / 1000),
    isAtLeast:
      (record?.wasEnded !== false && record?.isEstimate !== true) ||
      record.results?.every(({ state }) => state === "timed-out") === true,
    ...(isUnread && { isUnread }),
    isOnlyNew: passed > 0 && passed === (judging.judgement.newPassing ?? []).length,
  };
  const cheaper = about.affected.cheaper(deps.checks);
  return { facts: withFound(facts, { affectedOnly, cheaper }), runs };
}

function rememberNoticed({ memory, checks }: JudgeDraftDeps, noticed: readonly string[]): void {
  const record = noticed.length === 0 ? null : recallChecks(memory, checks);
  if (record === null) return;
  memory.keep({ ...record, noticed: [...new Set([...(record.noticed ?? []), ...noticed])] });
}

/** Whether a verdict depends on the draft's version of deciding files. */
function isForgedBy(verdict: Judgement["verdict"], asItWas: Judgement["verdict"]): boolean {
  if (asItWas === "worse" || asItWas === "still-red") return true;
  return claimsGreen(verdict) && (asItWas === "red-before" || asItWas === "unknown");
}

function claimsGreen(verdict: Judgement["verdict"]): boolean {
  return verdict === "same" || verdict === "better";
}

/** Tests that were red before do not block a change; its new tests are proven as in a green project. */
function mayLand(verdict: Judgement["verdict"]): boolean {
  return claimsGreen(verdict) || verdict === "red-before";
}

/** Changed files that decide how checks run, without those in which only other parts changed. */
function decidingChanges(draft: Pick<Draft, "changes" | "diff">): string[] {
  const paths = draft
    .changes()
    .flatMap(({ path, kind }) => (decidesChecks(path, { isNew: kind === "added" }) ? [path] : []));
  if (paths.length === 0) return [];
  const texts = new Map(toChangedTexts(draft).map((one) => [one.path, one]));
  return paths.filter((path) => {
    const text = texts.get(path);
    return text === undefined || changesWhatDecides(text);
  });
}

/** Whether the draft changes a file that defines the checks, and a check that had passing tests is green without showing any. */
function isSilenced(
  changes: ReturnType<Draft["changes"]>,
  results: readonly CheckResult[],
  baseline: readonly CheckResult[],
): boolean {
  const shows = (at: number) => (baseline[at]?.results?.counts.passed ?? 0) > 0;
  return (
    changes.some(({ path }) => READ_FOR_CHECKS.includes(path)) &&
    results.some((result, at) => result.state === "green" && result.results === null && shows(at))
  );
}

/** A run without added tests shows whether the others are fixed without them, and where only failures are listed, which are new. */
function needsOldTests({ draft, changes, results, baseline, judgement }: Judging): boolean {
  const tests = changes.filter(({ path }) => isTestPath(path));
  if (tests.length === 0 || judgement.mended.length > 0) return tests.length > 0;
  if (tests.some(({ kind }) => kind !== "added")) return judgement.worse.length > 0 || !onlyAdds(draft);
  const isVague = baseline.results.some(({ results: read }) => read?.listed === "failed");
  return isVague && results.some(({ state }) => state === "red");
}

/** Every check except the one that the verdict reports. The verdict `worse` names its checks itself. */
function findBeside({ verdict }: Judgement, results: readonly CheckResult[]): CheckBeside[] {
  if (verdict === "worse" || verdict === "unknown" || verdict === "not-checked") return [];
  const ran = results.filter(({ state }) => state !== "cannot-run");
  const tests = ran.filter(({ kind }) => kind === "test");
  const leading = tests.find((one) => one.results !== null) ?? tests[0] ?? ran[0];
  return results.flatMap((one) => {
    const { command, state, results: read } = one;
    return one === leading ? [] : [{ command, state, ...(read !== null && { counts: read.counts }) }];
  });
}

function toChecksFacts(
  judging: Pick<Judging, "runs" | "results" | "judgement" | "findings" | "isBlind"> &
    Partial<Pick<Judging, "unrepeated">>,
  commands: readonly string[],
  { before = [], ...more }: Found & { readonly before?: readonly CheckResult[] },
): ChecksFacts {
  const { runs, results, findings, isBlind, unrepeated = [] } = judging;
  const { verdict, counts, ...tests } = judging.judgement;
  const unpassed = new Set([...(findingsByCode({ findings }).unstable ?? []), ...unrepeated]).size;
  const isEndless = ({ state }: CheckResult) => state === "timed-out";
  const endless = results.filter(isEndless).map(({ command }) => command);
  const hung = before.filter(isEndless).map(({ command }) => command);
  const ended = runs.flatMap(({ outcome, durationMs }) => (outcome === "timed-out" ? [durationMs] : []));
  const seconds = Math.round(Math.max(0, ...ended) / 1000);
  const ran = results.filter(({ state }) => state !== "cannot-run").map(({ command }) => command);
  const red = results.filter(({ state }) => state === "red");
  const unknown = red.some((one) => failingTests(one).length > 0) ? "none-passed" : "red-before";
  const why: Partial<Record<Judgement["verdict"], WhyNotChecked>> = {
    "not-checked": endless.length > 0 ? "unended" : "cannot-run",
    unknown: red.length > 0 && red.every(isUnable) ? "cannot-run" : unknown,
  };
  const unended = { commands: endless.filter((command) => !hung.includes(command)), seconds };
  const isUnended = verdict === "worse" && unended.commands.length > 0;
  const errorBefore = findErrorBefore(before);
  return {
    verdict: isBlind ? "not-checked" : verdict,
    counts: counts === null ? null : { ...counts, passed: Math.max(0, counts.passed - unpassed) },
    commands: ran.length > 0 ? ran : commands,
    notChecked: isBlind ? "blind" : (why[verdict] ?? null),
    findings: addFindings(findings, { ...tests, errorBefore, ...(isUnended && { unended }), ...more }),
  };
}
