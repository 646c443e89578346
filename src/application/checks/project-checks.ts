/**
 * The checks of one message: what judges its drafts, what is remembered between attempts, and what the coder is shown of it.
 * In: the checks that `openChecks` found, or why there are none. Out: `ProjectChecks`, whose `judge` gives one verdict an attempt.
 * Invariant: a verdict counts for the workspace that it was measured over; when that changes, it is measured again.
 */

import { type Declaration, readDeclarations, withoutDeclarations } from "../../domain/checks/declarations.ts";
import { foldAccounts } from "../../domain/checks/failures.ts";
import {
  findCalledCheck,
  isKnownCheck,
  type ProjectCheck,
  withSettingsOf,
} from "../../domain/checks/find-checks.ts";
import {
  type ChecksFacts,
  codesWith,
  FINDINGS,
  type FindingRules,
  type FindingValues,
  type Found,
  findingsByCode,
  type ListedForCoder,
  makesOf,
  notChecked,
  type SaidToCoder,
  withFound,
} from "../../domain/checks/findings.ts";
import { narrowLine } from "../../domain/checks/narrow-check.ts";
import { failingOutput, readResults } from "../../domain/checks/read-results.ts";
import {
  type CheckResult,
  findErrorBefore,
  findServices,
  isUnable,
  judgesBaseline,
  type KnownCheck,
  type Verdict,
} from "../../domain/checks/verdict.ts";
import { isSameFile } from "../../domain/platform/file-bytes.ts";
import { type ChecksMessages, type ChecksState, checksMessagesFor } from "../../domain/texts/checks.ts";
import type { Baseline, CheckMemory, CheckRecord, KnownCommands, Said } from "../ports/checks.ts";
import type { CheckRun, Draft } from "../ports/jobs-draft.ts";
import type { WorkspaceFiles } from "../ports/platform-view.ts";
import { findAffected } from "./affected.ts";
import { type FoundChecks, limitSeconds, measureBaseline, recallChecks } from "./baseline.ts";
import type { FormatDraft, FormattableDraft } from "./format-draft.ts";
import { createSourceJudge, type SourceJudgeDeps } from "./judge-by-sources.ts";
import {
  type DraftJudgement,
  type JudgeDraftDeps,
  type JudgedDraft,
  judgeDraft,
  unjudgedChange,
} from "./judge-draft.ts";
import type { createToolJudge } from "./judge-tools.ts";
import { createRunMemory } from "./remember-runs.ts";

const OUTPUT_CHARS = 6000;
const NAMES = 10;

/** One red check, for the coder: the command as the project calls it, what it printed, how it ended. */
function wordRedCheck(
  { output, exitCode, outcome }: Pick<CheckRun, "output" | "exitCode" | "outcome">,
  command: string,
  others: readonly string[],
): string {
  const end = exitCode === null ? outcome : `exit code ${exitCode}`;
  const tests = others.length === 0 ? null : readResults(output)?.tests;
  const own = tests == null ? output : foldAccounts(output, tests, others);
  return `$ ${command}\n${failingOutput(own, OUTPUT_CHARS)}\n${end}`;
}

/** The titles of lists of tests in a report to the coder. */
const TITLES: Readonly<Record<ListedForCoder, string>> = {
  worse: "Passed before; now they fail, are skipped or are missing",
  newFailing: "New and failing",
  stillRed: "Red before, and still red",
  together: "Fail with the other tests, twice, and pass alone: look for state that tests share",
  redBefore: "Red before your change, and unrelated to it",
  unable: "Cannot run here, with or without your change: not yours to fix",
};

/** The results of the checks, for the coder that made the draft: regressions, and the output of the red checks. */
export function wordChecks(
  facts: ChecksFacts,
  { runs, before = [] }: Pick<DraftJudgement, "runs" | "before">,
  checks: readonly ProjectCheck[],
): string {
  const { stillRed = [], redBefore = [], unable = [], unnamed = [], beside = [] } = findingsByCode(facts);
  const named = stillRed.filter((test) => !unnamed.includes(test));
  const found = findingsByCode(withFound(facts, { stillRed: named }));
  const cannotRun = beside.flatMap(({ command, state }) => (state === "cannot-run" ? [command] : []));
  const red = runs.filter((run) => run.exitCode !== 0 && !cannotRun.includes(checkCommandLine(run, checks)));
  return [
    ...wordWhatIsRed(facts.verdict, found, red.length > 0),
    ...codesWith("forCoder", "listed", "both").map((code) =>
      found[code] === undefined ? "" : `${TITLES[code]}:\n${wordNames(found[code])}`,
    ),
    cannotRun.length === 0 ? "" : `Cannot run here, with or without your change: ${quoteEach(cannotRun)}`,
    ...before.map(({ command, tail }) => `Before your change \`${command}\` ended with:\n${tail}`),
    ...red.map((run) => wordRedCheck(run, checkCommandLine(run, checks), [...redBefore, ...unable])),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** A sentence for each finding that makes a verdict red or doubtful, with what the coder can do. */
const SENTENCES: {
  readonly [Code in SaidToCoder]: (
    found: Pick<FindingValues, Code>,
    draft: { readonly verdict: Verdict; readonly isRed: boolean },
  ) => string;
} = {
  worse: () => "The project's own checks are worse than before your change.",
  newFailing: () =>
    "New tests fail. Fix the code or the tests. Declare a test that is meant to fail in the plan or your last message: `Meant to fail: NAME: reason`.",
  stillRed: () => "You declared that your change fixes tests which are still red.",
  unnamed: ({ unnamed }) =>
    `These were red before your change, belong to what it touches or are named in the request, and are still red:\n${wordNames(unnamed)}\nFix them. For each that is not yours to fix, copy its line into the plan or your last message, with your reason instead of REASON; no further change is needed for that:\n${wordDisowning(unnamed)}\nSuch a line is refused if the failure passes through your change or is a different one now. For a test that you removed on purpose: \`Removes: NAME\`.`,
  newErrors: ({ newErrors }) =>
    newErrors
      .map(
        ({ command, errors }) =>
          `Your change brings new errors of \`${command}\`. Fix them:\n${wordNames(errors)}`,
      )
      .join("\n"),
  unended: ({ unended: { commands, seconds } }) =>
    `With your change these checks did not end in ${seconds} seconds; without it they did: ${quoteEach(commands)}.`,
  onlyWith: ({ onlyWith }, { verdict }) =>
    `The checks pass only with your change of ${onlyWith.join(", ")}, which decides how they run; with the old version they are ${verdict === "worse" ? "worse" : "still red"}. Fix the code and leave that file as it was. If the request needs the change, declare it in the plan or your last message: \`Changes checks: FILE: reason\`.`,
  patches: ({ patches }) =>
    `These tests pass only because your new tests replace parts of the code for the rest of the run; without your new tests they fail, as listed below.\n${wordLines(patches)}\nFix the code, and end each replacement with its test (\`monkeypatch\`, \`with\`, an \`after\` hook).`,
  testRunLines: ({ testRunLines }, { isRed }) =>
    `${isRed ? "The checks are no worse than before your change" : "The checks pass"}, but these new lines outside of the tests refer to the test run, so the checks prove nothing:\n${wordLines(testRunLines)}\nRemove them and fix the code. If the request needs them, change nothing more and say why; the reply shows them to the user.`,
  rewritten: ({ rewritten }) =>
    `These tests failed before and pass only with your changes to the tests: you rewrote them, or a new test makes them pass. With the old tests they still fail.\n${wordNames(rewritten)}\nRestore what they expect and fix the code. If what they expected was wrong, change nothing more and declare it in the plan or your last message: \`Changes checks: FILE: reason\`.`,
  unstable: ({ unstable }) =>
    `These tests passed before your change; with it they failed once, and passed when they ran again alone:\n${wordNames(unstable)}\nSee whether they depend on order, time or shared state since your change, and fix that. If they do not, change nothing more; the reply names them to the user.`,
  cannotRun: ({ cannotRun }) =>
    cannotRun
      .map(
        ({ command, cause }) =>
          `\`${command}\` ends before any test, with your change and without it: ${cause}. That is not yours to fix.`,
      )
      .join("\n"),
  notMine: ({ notMine }) => `Accepted as not yours:\n${wordNames(notMine.map(({ test }) => test))}`,
  refused: ({ refused }) => {
    const { refusal } = checksMessagesFor("en");
    return `These lines \`Not mine\` are refused:\n${wordNames(refused.map(({ test, tie }) => `${test}: ${refusal(tie)}`))}`;
  },
  formatted: ({ formatted }) =>
    `The project's formatter (${formatted.join(", ")}) rewrote files that you changed: quote their lines as they are now.`,
};

function wordLines(lines: readonly { readonly path: string; readonly line: string }[]): string {
  return wordNames(lines.slice(0, NAMES).map(({ path, line }) => `${path}: ${line}`));
}

/** The finding that each red verdict names; another one that makes it red explains more. */
const OF_VERDICT: Partial<Readonly<Record<Verdict, SaidToCoder>>> = {
  worse: "worse",
  "new-failing": "newFailing",
  "still-red": "stillRed",
};

/** Why the verdict is red or doubtful: the findings of the first place that explains it. Then what else the coder must know. */
function wordWhatIsRed(verdict: Verdict, found: Found, isRed: boolean): string[] {
  const placeOf = (code: SaidToCoder) => FINDINGS[code].order;
  const places: readonly number[] = Object.values(OF_VERDICT).map(placeOf);
  const of = (makes: FindingRules["makes"]) =>
    codesWith("forCoder", "sentence", "both").filter((code) => found[code] && makesOf(code) === makes);
  const codes = of(verdict === "doubtful" ? "doubtful" : "red");
  const own = OF_VERDICT[verdict];
  const first = codes.find((code) => !places.includes(placeOf(code))) ?? own;
  const why = codes.filter((code) => first !== undefined && placeOf(code) === placeOf(first));
  const say = (code: SaidToCoder) => SENTENCES[code](found as FindingValues, { verdict, isRed });
  return [(why.length > 0 || own === undefined ? why : [own]).map(say).join("\n"), ...of(undefined).map(say)];
}

function quoteEach(commands: readonly string[]): string {
  return commands.map((command) => `\`${command}\``).join(", ");
}

/** The lines to copy; a file or a command covers all of its tests. */
function wordDisowning(names: readonly string[]): string {
  const rest = names.length > NAMES ? ["Not mine: FILE: REASON (all tests of a file)"] : [];
  return [...names.slice(0, NAMES).map((name) => `Not mine: ${name}: REASON`), ...rest].join("\n");
}

function wordNames(names: readonly string[]): string {
  const rest = names.length > NAMES ? [`… and ${names.length - NAMES} more`] : [];
  return [...names.slice(0, NAMES).map((name) => `- ${name}`), ...rest].join("\n");
}

function checkCommandLine({ command }: Pick<CheckRun, "command">, checks: readonly ProjectCheck[]): string {
  return checks.find(({ line }) => line === command)?.command ?? command;
}

export interface ProjectChecksDeps
  extends Pick<
      JudgeDraftDeps,
      "settings" | "memory" | "now" | "advise" | "signal" | "onOutput" | "onProgress" | "steps" | "named"
    >,
    Pick<SourceJudgeDeps, "sources"> {
  /** From `openChecks`; empty where `none` says why. */
  readonly checks: readonly ProjectCheck[];
  /** Commands of further checks that cannot run here, which the facts name. */
  readonly missing?: readonly string[];
  /** The facts of a change that no check of the project judges. */
  readonly none?: ChecksFacts;
  /** The command that installs what the checks need, shown when they cannot run. */
  readonly install?: string | null;
  readonly texts: ChecksMessages;
  /** Whether a program is on the PATH; absent: every program is assumed to exist. */
  readonly hasProgram?: (name: string) => boolean;
  /** Whether the coder is asked once for a command where nothing judged its change. */
  readonly mayAsk?: boolean;
  /** How the baseline is measured; several drafts of one message share it. */
  readonly measure?: typeof measureBaseline;
}

export interface JudgedAttempt {
  /** `unknown`: the facts explain why there is no verdict. */
  readonly verdict: "green" | "red" | "unknown";
  /** The verdict is red only so that the coder reviews the change, or names a check, once. */
  readonly landsAnyway: boolean;
  /** For the coder; empty where nothing is red. */
  readonly report: string;
  /** For progress lines: `3 of 426 fail`. */
  readonly brief: string;
  readonly facts: ChecksFacts;
  /** How the checks of the draft ended; empty where none ran. */
  readonly runs: readonly CheckRun[];
}

export interface ProjectChecks {
  readonly timeoutSeconds: number;
  /** Whether the project has its own checks that may judge. */
  readonly hasOwn: boolean;
  /** A command line that the coder proposes; it judges if no check of the project does. */
  propose(command: string | null): void;
  /** A text with commands: of the request, or one that the coder ran. They judge if no check of the project does. */
  say(said: Said): void;
  /** Adds the declarations in a plan, or in an agent's last message, to the earlier ones; returns the words without them. */
  declare(words: string): string;
  /** Starts to measure the baseline, while the coder is being asked. */
  begin(draft: JudgedDraft): void;
  /** Validates the current draft. If the workspace changed meanwhile, the baseline is measured again. */
  judge(draft: JudgedDraft, attempt: number): Promise<JudgedAttempt>;
  /** Before a commit: the last judgement, or a new one where the workspace changed since. */
  confirm(draft: JudgedDraft, attempt: number): Promise<JudgedAttempt>;
  /** Whether the workspace is unchanged since the draft was judged. */
  holds(draft: JudgedDraft): Promise<boolean>;
  /** Call it before a judged draft lands, and the result afterwards: its checks then count for the workspace, unless others changed it. */
  rememberLanded(draft: Pick<Draft, "diff">, files: Pick<WorkspaceFiles, "look" | "read">): () => void;
  /** Remembers the last judgement; the result makes it the last again, for a draft that is as it was. */
  remember(): () => void;
  /** The facts of the last judgement; before the first, those of `none`, or null. */
  facts(): ChecksFacts | null;
  /** A command with the variables and the program places of the checks. */
  withSettings(command: string): string;
  /** Whether a command only checks: files that it writes must not become part of the change. */
  isCheck(command: string): boolean;
  /** The line of the check that a command calls, and that judges every attempt anyway. */
  covers(command: string): string | undefined;
}

export function createProjectChecks(deps: ProjectChecksDeps): ProjectChecks {
  const { checks, settings, memory, texts } = deps;
  const record = recallChecks(memory, checks);
  const runs = createRunMemory({
    fingerprint: () => memory.fingerprint(),
    now: deps.now,
    usualMs: record === null || record.wasEnded ? 0 : record.durationMs,
    unknownSeconds: limitSeconds(settings, record),
    hung: record?.hung ?? [],
  });
  let measured: Promise<Baseline> | null = null;
  let last: JudgedAttempt | null = null;
  let sentBack = false;
  let isAwaited = false;
  let judgedMs = 0;
  /** The fingerprint of the workspace over which another source judged; null where the baseline holds it. */
  let judgedOver: string | null = null;
  let lastResults: readonly CheckResult[] | null = null;
  const declarations: Declaration[] = [];
  const sources = createSourceJudge({ ...deps, declarations });
  let tools: ReturnType<typeof createToolJudge> | null = null;
  const formatted = new Set<string>();
  let format: FormatDraft | null = null;

  async function formatFirst(draft: JudgedDraft, attempt: number): Promise<void> {
    const { takeIn } = draft;
    if (settings.format !== true || takeIn === undefined) return;
    const { createFormatter } = await import("./format-draft.ts");
    format ??= createFormatter(deps);
    const run = format;
    const by = await deps.advise("formatter", [], () => run(draft as FormattableDraft, attempt));
    for (const name of by) formatted.add(name);
  }
  function baselineOf(draft: JudgedDraft): Promise<Baseline> {
    if (measured === null) {
      const countTestFiles = () => findAffected(draft).of;
      measured = (deps.measure ?? measureBaseline)(
        { ...deps, countTestFiles, isAwaited: () => isAwaited },
        draft,
      );
      // A draft may end, and abort its baseline, before `judge` awaits it.
      measured.catch(() => {});
    }
    return measured;
  }
  async function freshBaseline(draft: JudgedDraft): Promise<Baseline> {
    const baseline = await baselineOf(draft);
    if (!baseline.ok || baseline.fingerprint === memory.fingerprint()) return baseline;
    measured = null;
    return baselineOf(draft);
  }
  async function isFresh(draft: JudgedDraft): Promise<boolean> {
    if (judgedOver !== null) return judgedOver === memory.fingerprint();
    if (deps.none !== undefined) return true;
    const baseline = await baselineOf(runs.over(draft));
    return !baseline.ok || baseline.fingerprint === memory.fingerprint();
  }
  async function judgeTools(draft: JudgedDraft, attempt: number, judged: DraftJudgement) {
    if (deps.sources === undefined) return judged;
    const { createToolJudge } = await import("./judge-tools.ts");
    tools ??= createToolJudge({ ...deps, declarations });
    return tools.judge(draft, attempt, judged);
  }
  function rememberHung(): void {
    const measured = recallChecks(memory, checks);
    const hung = runs.hung();
    const isNew = JSON.stringify(hung) !== JSON.stringify(measured?.hung ?? []);
    if (measured !== null && isNew) memory.keep({ ...measured, hung });
  }
  async function judgeByOwn(draft: JudgedDraft, attempt: number): Promise<DraftJudgement> {
    const { none } = deps;
    if (none === undefined)
      return judgeDraft({ ...deps, declarations, baseline: () => freshBaseline(draft) }, draft, attempt);
    const why = unjudgedChange(draft);
    return { facts: why === null ? none : notChecked(why, none.commands), runs: [] };
  }
  async function judge(opened: JudgedDraft, attempt: number): Promise<JudgedAttempt> {
    const draft = runs.over(opened);
    const from = deps.now();
    isAwaited = true;
    judgedOver = null;
    await formatFirst(opened, attempt);
    const over = memory.fingerprint();
    const first = await sources.judgeFirst(draft, attempt);
    let judged = first ?? (await judgeByOwn(draft, attempt));
    lastResults = first === null ? (judged.results ?? null) : null;
    const helped = first ?? (await sources.judge(draft, attempt, judged));
    if (helped !== null) [judged, judgedOver] = [helped, over];
    judged = await judgeTools(draft, attempt, judged);
    rememberHung();
    judgedMs += deps.now() - from;
    const { install, missing = [] } = deps;
    const { notChecked: why } = judged.facts;
    const { beside = [], install: known, errorBefore = "" } = findingsByCode(judged.facts);
    const ran = why === "slow" || why === "unended" ? recallChecks(memory, checks) : null;
    const seconds = Math.round((ran?.durationMs ?? 0) / 1000);
    const limit = why === "slow" ? settings.auto_limit : settings.timeout;
    const others = missing.map((command) => ({ command, state: "cannot-run" as const }));
    const facts = withFound(judged.facts, {
      ...(seconds > 0 && { tooLong: { seconds, limit } }),
      ...(why === "cannot-run" && install != null && known === undefined && { install }),
      ...(why === null && {
        beside: [...beside, ...others],
        hung: runs.named(),
        seconds: Math.max(1, Math.round(judgedMs / 1000)),
      }),
      formatted: [...formatted],
      services: findServices([
        ...judged.runs.flatMap(({ exitCode, output }) => (exitCode === 0 ? [] : [output])),
        ...(judged.before ?? []).map(({ tail }) => tail),
        errorBefore,
      ]),
    });
    const ask = sentBack || deps.mayAsk !== true ? "" : wordUnjudged(facts);
    const mayLand = ask !== "" || landsAnyway(facts);
    const short = landsAnyway(facts) && sentBack ? "green" : SHORT_VERDICTS[facts.verdict];
    const verdict = ask === "" ? short : "red";
    sentBack ||= mayLand;
    last = {
      verdict,
      landsAnyway: verdict === "red" && mayLand,
      report: ask || (verdict === "red" ? wordChecks(facts, judged, checks) : ""),
      brief: texts.brief(facts),
      facts,
      runs: judged.runs,
    };
    return last;
  }
  return {
    timeoutSeconds: settings.timeout,
    hasOwn: deps.none === undefined,
    propose(command) {
      if (command !== null) sources.propose(command);
    },
    say: sources.say,
    declare(words) {
      const more = readDeclarations(words);
      declarations.push(...more);
      return more.length === 0 ? words : withoutDeclarations(words);
    },
    begin: (draft) => void (deps.none === undefined && baselineOf(runs.over(draft))),
    judge,
    async confirm(draft, attempt) {
      if (last === null || !(await isFresh(draft))) return judge(draft, attempt);
      return last.landsAnyway ? { ...last, verdict: "green", report: "", landsAnyway: false } : last;
    },
    holds: isFresh,
    rememberLanded(draft, files) {
      const results = lastResults;
      const record = recallChecks(memory, checks);
      const landed = draft.diff();
      // A test that hangs is tried again in a run over the workspace.
      const isHung = runs.hung().length > 0;
      if (results === null || record === null || isHung || landed.length > MOST_COMPARED) return () => {};
      const paths = landed.map(({ path }) => path);
      const others = memory.fingerprint(paths);
      const readNow = (path: string) => (files.look(path).kind === "file" ? files.read(path) : null);
      return () => {
        const fingerprint = memory.fingerprint();
        const isAsJudged =
          memory.fingerprint(paths) === others &&
          landed.every(({ path, after }) => after !== undefined && isSameFile(after, readNow(path)));
        if (isAsJudged) memory.keep({ ...record, fingerprint, results, at: deps.now() });
      };
    },
    remember() {
      const kept = { last, judgedOver, lastResults };
      return () => {
        ({ last, judgedOver, lastResults } = kept);
      };
    },
    facts: () => last?.facts ?? deps.none ?? null,
    isCheck: (command) => deps.none === undefined && isKnownCheck(command, checks),
    withSettings: (command) => withSettingsOf(checks, command),
    covers: (command) => findCalledCheck(command, checks)?.line,
  };
}

/** After a larger change, the next baseline is measured again. */
const MOST_COMPARED = 500;

/** Nothing is worse: the coder reviews the change once; then it lands, and the reply names the doubt. */
function landsAnyway({ verdict }: ChecksFacts): boolean {
  return verdict === "doubtful";
}

const SHORT_VERDICTS: Readonly<Record<Verdict, JudgedAttempt["verdict"]>> = {
  same: "green",
  better: "green",
  "red-before": "green",
  doubtful: "red",
  worse: "red",
  "still-red": "red",
  "new-failing": "red",
  unknown: "unknown",
  "not-checked": "unknown",
};

/** `record`: of the current workspace; null if the checks have not run over it. */
export function readChecksState(found: FoundChecks, record: CheckRecord | null): ChecksState {
  if (!found.ok) return { checks: [], none: factsWithoutChecks(found) };
  const results = record?.results ?? null;
  if (results?.some(judgesBaseline) === false) return { checks: [], none: factsOfUnable(found, results) };
  const seconds = record !== null && results?.length === 1 ? Math.round(record.durationMs / 1000) : null;
  const judging: readonly KnownCheck[] =
    results
      ?.filter(judgesBaseline)
      .map((result) => ({ command: result.command, result, ...(seconds !== null && { seconds }) })) ??
    found.checks.map(({ command }) => ({ command, result: null }));
  const unable = { kind: "lint", state: "cannot-run", results: null } as const;
  const missing = found.missing.map((command) => ({ command, result: { ...unable, command } }));
  return { checks: [...judging, ...missing], none: null };
}

/** The facts of a change that nothing judges. */
export function factsWithoutChecks(found: Extract<FoundChecks, { ok: false }>): ChecksFacts {
  const { why, commands, absent, install } = found;
  return withFound(notChecked(why, commands), { absent, ...(install !== null && { install }) });
}

function factsOfUnable(
  { checks, install }: { readonly checks: readonly ProjectCheck[]; readonly install: string | null },
  results: readonly CheckResult[],
): ChecksFacts {
  const absent = [...new Set(results.flatMap(({ absent: program }) => program ?? []))];
  const isRed = results.some(
    (result) => result.state === "red" && !isUnable(result) && result.failure?.outside === undefined,
  );
  const why = isRed ? "red-before" : "cannot-run";
  const commands = checks.map(({ command }) => command);
  const facts = factsWithoutChecks({ ok: false, why, commands, absent, install });
  const cannotRun = results.flatMap(({ command, failure }) =>
    failure?.outside === undefined ? [] : [{ command, cause: failure.outside.cause }],
  );
  return withFound(facts, { errorBefore: findErrorBefore(results), cannotRun });
}

/** How a coder declares what it knows about tests. Facts and these declarations decide verdicts; the request's words do not. */
export function wordDeclarations(where: "the plan" | "your last message"): string {
  return `Declare what you know about tests in ${where}, one per line; NAME is a test, its file or a command: \`Fixes: NAME\` (red, and your change fixes it), \`Not mine: NAME: reason\` (red for another reason), \`Removes: NAME\`, \`Meant to fail: NAME: reason\` (a new test), \`Changes checks: FILE: reason\` (FILE decides how tests run, or what a red test expects).`;
}

/** The state of checks that earlier jobs and the declared checks themselves add to the measured one. */
export interface ChecksKnown {
  /** The last run of all these checks, over any files. */
  readonly last: Pick<CheckRecord, "durationMs" | "wasEnded" | "isEstimate"> | null;
  /** Forms of the checks for single test files. */
  readonly narrow: readonly string[];
  readonly others: KnownCommands | null;
}

export const NOTHING_KNOWN: ChecksKnown = { last: null, narrow: [], others: null };

export function recallKnown(found: FoundChecks, memory: CheckMemory): ChecksKnown {
  const tests = found.ok ? found.checks.filter(({ kind }) => kind === "test") : [];
  const file = new Map([["FILE", ""]]);
  return {
    last: found.ok ? recallChecks(memory, found.checks) : null,
    narrow: tests.flatMap(({ line, runner = line }) => narrowLine(runner, ["FILE"], file) ?? []),
    others: memory.commands?.recall() ?? null,
  };
}

const quote = (command: string) => `\`${command}\``;

/** The state for the coder, as sentences that follow others; empty where there is nothing to say. */
export function wordStateForCoder(state: ChecksState, known: ChecksKnown): string {
  const texts = checksMessagesFor("en");
  if (state.none?.notChecked === "never") return "";
  const { works, tried = [] } = known.others ?? {};
  const failed = tried.flatMap(({ command, why }) =>
    why === null ? [] : [`${quote(command)} (${why.replaceAll("-", " ")})`],
  );
  const others = [
    works === undefined
      ? ""
      : `${quote(works.command)} judged here in ${works.seconds} s, and PicoClaw runs it after the patch.`,
    failed.length === 0 ? "" : `These cannot judge here: ${failed.slice(0, NAMES).join(", ")}.`,
  ];
  const join = (...parts: readonly string[]) => parts.filter((part) => part !== "").join(" ");
  if (state.none !== null) {
    const none = { ...state.none, commands: state.none.commands.map(quote) };
    // The usual words name a setting that only a person can change.
    const why =
      none.notChecked === "no-checks"
        ? "No tests of the project were found"
        : texts.state({ ...state, none });
    const ask = "If a single command can test the change here, write it alone in a section ## Check.";
    return join(`${why}.`, ...others, ask);
  }
  // A full stop right behind `go test ./...` would read as a part of it.
  const checks = state.checks.map((check) => ({ ...check, command: quote(check.command) }));
  const isElsewhere = checks.some(({ result }) => result?.state === "cannot-run");
  const elsewhere = isElsewhere
    ? "A check that cannot run here runs elsewhere: follow its configuration."
    : "";
  return join(
    wordWhoRuns(texts.state({ ...state, checks }), state, known),
    elsewhere,
    ...others,
    wordDeclarations("the plan"),
  );
}

/** Asks for a command where another one may judge; the change lands in any case. Nothing helps where a program is not installed. */
function wordUnjudged(facts: ChecksFacts): string {
  const { absent = [], proposed } = findingsByCode(facts);
  if (!/^(?:slow|unended|cannot-run|red-before)$/.test(facts.notChecked ?? "")) return "";
  if (absent.length > 0 || proposed !== undefined) return "";
  const none = { ...facts, commands: facts.commands.map(quote) };
  return `Nothing failed, and nothing judged your change. ${checksMessagesFor("en").state({ checks: [], none })}.\nIf a narrow command can judge it here (a test runner with the test files that it touches, a type checker, a linter), write it alone in a section ## Check, with an empty ## Patch: PicoClaw runs it over the old code and over your change. Without such a command, answer \`No change: reason\`.`;
}

/** A command is left to PicoClaw where it is known to end in time; else the coder is told a narrow one. */
function wordWhoRuns(found: string, { checks }: ChecksState, { last, narrow }: ChecksKnown): string {
  const [one] = narrow;
  const instead = one === undefined ? "a narrow command" : quote(one);
  const seconds = Math.round((last?.durationMs ?? 0) / 1000);
  if (last?.wasEnded === true)
    return `${found} ${last.isEstimate ? `would take about ${seconds} s` : `did not end in ${seconds} s`} here. PicoClaw runs only the tests near your change in time: do not run all of them, test your change by ${instead}.`;
  const isKnown = checks.every(({ result }) => result !== null);
  if (isKnown || last !== null)
    return `PicoClaw runs these after the patch, so do not run them: ${found}${isKnown ? "" : `, ${seconds} s the last time`}.`;
  return `PicoClaw tries these after the patch: ${found}, not tried here yet. Do not run all of them; test your change by ${instead}, if you have to.`;
}
