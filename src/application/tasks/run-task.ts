import { notChecked, readChecksRecord } from "../../domain/checks/findings.ts";
import { type RanJob, toRanJob } from "../../domain/jobs/result.ts";
import { NO_USAGE, type TaskUsage } from "../../domain/models/model-facts.ts";
import {
  assessmentPrompt,
  decisionPrompt,
  metaSystemPrompt,
  planPrompt,
  readAssessment,
  readCriteriaPlan,
  readDecision,
} from "../../domain/tasks/meta-protocol.ts";
import { renderNote, taskJson } from "../../domain/tasks/task-note.ts";
import {
  isEnded,
  keptJob,
  landedJobs,
  lastRun,
  missingProgram,
  nameRunJob,
  passes,
  type RunJob,
  recordOf,
  type TaskEvent,
  type TaskEventFacts,
  type TaskFacts,
  type TaskFailureCode,
  type TaskRecord,
  type TestRun,
  testOfNow,
  withEvent,
} from "../../domain/tasks/task-record.ts";
import type { TaskMessages } from "../../domain/texts/tasks.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import type { JudgedAttempt } from "../checks/project-checks.ts";
import { type Bench, createPlainBench } from "../coder/bench.ts";
import { coderLoop, type HeadWorkResult } from "../coder/coder-loop.ts";
import { askJson, completionFailure, type JsonReading, type Patience } from "../models/complete.ts";
import { createAdvise } from "../platform/advise.ts";
import type { ProjectFiles } from "../ports/drafts.ts";
import type { Model } from "../ports/models.ts";
import type { WorkerAccount } from "../ports/models-meter.ts";
import type { TaskFiles, WorkerExecutor, WorkerProgress } from "../ports/tasks.ts";

interface RunDeps {
  readonly files: TaskFiles;
  readonly messages: TaskMessages;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onRecord?: (record: TaskRecord, event: TaskEvent) => void;
}

/** A task ends by itself only through these. */
class RunEnded extends Error {
  constructor(readonly event: TaskEventFacts) {
    super(event.type);
  }
}

/** A task while it runs: its record so far, and its limits. */
interface OpenedRun {
  readonly record: TaskRecord;
  /** Writes it down before anything else happens. */
  note(event: TaskEventFacts): void;
  failure(code: TaskFailureCode, reason: string): RunEnded;
  remainingMs(): number;
  /** Throws the end of a task that was stopped, or whose time is over. */
  checkLimits(): void;
}

function openRun(deps: RunDeps, start: TaskFacts | "resume"): OpenedRun {
  const { files, messages, signal } = deps;
  const at = () => deps.now().toISOString();
  const opening: TaskEvent =
    start === "resume" ? { type: "resumed", at: at() } : { type: "created", at: at(), task: start };
  const before = recordOf(start === "resume" ? files.events() : [opening]);
  if (before === null) throw new Error("there is no such task");
  let record = start === "resume" ? withEvent(before, opening) : before;
  /** Since when the time of this process counts. */
  const startedAt = deps.now().getTime();
  const publish = (event: TaskEvent) => {
    files.append(event);
    files.writeNote(renderNote(record, messages), taskJson(record));
    deps.onRecord?.(record, event);
  };
  const failure: OpenedRun["failure"] = (code, reason) => new RunEnded({ type: "failed", code, reason });
  const remainingMs = () => record.facts.maxTotalTimeSec * 1000 - (deps.now().getTime() - startedAt);
  publish(opening);
  return {
    get record() {
      return record;
    },
    note(event) {
      const dated = { ...event, at: at() };
      record = withEvent(record, dated);
      publish(dated);
    },
    failure,
    remainingMs,
    checkLimits() {
      if (signal.aborted) throw new RunEnded({ type: "interrupted" });
      if (remainingMs() <= 0) throw failure("total-time", messages.totalTime(record.facts.maxTotalTimeSec));
    },
  };
}

export interface RunTaskDeps extends RunDeps {
  readonly executor: WorkerExecutor;
  /** Null with `--no-meta`. */
  readonly meta: Model | null;
  readonly metaSystemPrompt?: string;
  /** For a planning model whose server is overloaded or failing. Default: its own tries are all. */
  readonly patience?: Patience;
  /** The cost of the planner's last answer, in US dollars; default: nothing. */
  readonly costOf?: () => number;
  /** Records the worker CLI's own usage; absent where nothing is counted. */
  readonly workers?: WorkerAccount;
  /** Leaves the run's job as a preview; with `--no-meta` alone. */
  readonly preview?: boolean;
  readonly notes?: readonly string[];
  /** How often the worker may try until the tests are green, where no planner decides that. Default: once. */
  readonly attempts?: number;
  readonly onProgress?: (
    progress: WorkerProgress | { readonly kind: "setup"; readonly text: string },
  ) => void;
}

/**
 * The loop of a task file: criteria, then by turns a decision, a worker run and the tests, until they say that it is done, or a limit.
 * Every step is in the journal before the next begins. A task that returns `interrupted` can be resumed.
 */
export async function runTask(deps: RunTaskDeps, start: TaskFacts | "resume") {
  const { executor, signal } = deps;
  const run = openRun(deps, start);
  try {
    run.checkLimits();
    const kept = keptJob(run.record);
    const started = await executor.start({
      signal,
      ...(run.record.facts.test && { test: run.record.facts.test.command }),
      landed: landedJobs(run.record).map(({ id }) => id),
      ...(kept !== null && { kept: kept.id }),
      onProgress: (text) => deps.onProgress?.({ kind: "setup", text }),
    });
    run.checkLimits();
    if (!started.ok)
      throw run.failure(started.code === "aborted" ? "container" : started.code, started.message);
    const unjudged = run.record.facts.test === null ? [deps.messages.notChecked] : [];
    const notes = [...unjudged, ...(deps.notes ?? []), ...started.notes];
    run.note({ type: "prepared", image: started.image, notes });
    // The preview was applied since, or the process died right after it landed.
    if (kept !== null && started.hasKept === true)
      run.note({ type: "landed", loop: run.record.loops.length, job: { ...kept, outcome: "committed" } });
    const summary = deps.meta === null ? await withoutMeta(deps, run) : await withMeta(deps, run);
    run.note({ type: "completed", summary });
  } catch (error) {
    if (!(error instanceof RunEnded)) {
      const reason = error instanceof Error ? error.message : String(error);
      run.note({ type: "failed", code: "bug", reason });
      throw error;
    }
    run.note(withKept(deps, run, error.event));
  } finally {
    await executor.stop();
  }
  const { record } = run;
  return { record, interrupted: !isEnded(record.state) };
}

/** A change that did not land is reported with the failure. */
function withKept({ messages }: RunTaskDeps, { record }: OpenedRun, event: TaskEventFacts): TaskEventFacts {
  const kept = keptJob(record);
  if (event.type !== "failed" || kept === null) return event;
  return { ...event, reason: `${event.reason}. ${messages.keptRed(nameRunJob(kept))}` };
}

async function withMeta(deps: RunTaskDeps, run: OpenedRun): Promise<string> {
  if (run.record.state === "PENDING") {
    run.note({ type: "planning" });
    const { value, usage } = await askMeta(deps, run, planPrompt(run.record), readCriteriaPlan);
    run.note({ type: "planned", criteria: value, usage });
  }
  const { maxLoops } = run.record.facts;
  while (run.record.loops.length - run.record.loopsBefore < maxLoops)
    if (await runLoop(deps, run)) return run.record.loops.at(-1)?.assessment || deps.messages.allCriteria;
  throw run.failure("max-loops", deps.messages.maxLoops(maxLoops));
}

/** The requirements are the prompt, the exit code and the tests the judges. */
async function withoutMeta(deps: RunTaskDeps, run: OpenedRun): Promise<string> {
  const { messages } = deps;
  if (run.record.state === "PENDING") {
    run.note({ type: "planning" });
    run.note({ type: "planned", criteria: [], usage: NO_USAGE });
  }
  const prompt = run.record.facts.prd;
  decideByItself(run, "--no-meta", prompt);
  await workInDraft(deps, run, prompt);
  const last = run.record.loops.at(-1);
  if (last?.run && last.run.error !== null) throw run.failure("worker", last.run.error);
  if (last?.test && !passes(last.test))
    throw run.failure("test", last.test.error ?? messages.testFailed(last.test.exitCode ?? -1));
  // Nothing is done that is not in the repository.
  if (deps.preview !== true && keptJob(run.record) !== null)
    throw run.failure("container", messages.workerLost(run.record.facts.image));
  run.note({ type: "validating", loop: run.record.loops.length });
  return lastRun(run.record)?.summary || messages.workerDone;
}

function decideByItself(run: OpenedRun, reason: string, prompt: string): void {
  const loop = run.record.loops.length + 1;
  run.note({ type: "decided", loop, action: "run_worker", reason, prompt, usage: NO_USAGE });
}

/** One loop; true when the task is done. */
async function runLoop(deps: RunTaskDeps, run: OpenedRun): Promise<boolean> {
  const loop = run.record.loops.length + 1;
  const { value, usage } = await askMeta(deps, run, decisionPrompt(run.record), readDecision);
  run.note({ type: "decided", loop, ...value, usage });
  if (value.action === "run_worker") {
    await workInDraft(deps, run, value.prompt);
    return false;
  }
  // Tests that are red, or never ran on the current files, need no model to validate them.
  const test = await (testOfNow(run.record) ?? runTest(deps, run));
  if (test !== null && !passes(test)) {
    run.note({ type: "refused", loop, exitCode: test.exitCode });
    return false;
  }
  run.note({ type: "validating", loop });
  const { record } = run;
  const judged = await askMeta(deps, run, assessmentPrompt(record), (text) =>
    readAssessment(text, record.criteria),
  );
  run.note({ type: "assessed", loop, ...judged.value, usage: judged.usage });
  if (!judged.value.verdicts.every(({ passed }) => passed)) return false;
  // The worker failed, yet the tests and the planner take its work. Without tests only what is in the repository counts.
  if (keptJob(run.record) === null || (await landKept(deps, run)) !== null || test !== null) return true;
  throw run.failure("worker", lastRun(run.record)?.error ?? deps.messages.workerAborted);
}

async function askMeta<T>(
  { meta, metaSystemPrompt: own, messages, signal, costOf, patience }: RunTaskDeps,
  run: OpenedRun,
  prompt: string,
  read: (text: string) => JsonReading<T>,
): Promise<{ readonly value: T; readonly usage: TaskUsage }> {
  run.checkLimits();
  const answer = await askJson(meta as Model, {
    request: { system: metaSystemPrompt(own), messages: [{ role: "user", text: prompt }], signal },
    read,
    deadline: AbortSignal.timeout(Math.max(1, run.remainingMs())),
    ...(patience !== undefined && { patience }),
  });
  const { inputTokens, outputTokens } = answer.usage;
  if (answer.kind === "read")
    return { value: answer.value, usage: { inputTokens, outputTokens, costUsd: costOf?.() ?? 0 } };
  run.checkLimits();
  if (answer.kind === "failed" && answer.failure.code === "over-budget")
    throw run.failure("budget", messages.overBudget(answer.failure.message));
  throw run.failure(
    "meta",
    answer.kind === "malformed"
      ? messages.metaMalformed(answer.problem)
      : messages.metaFailed(completionFailure(answer).message),
  );
}

/** Nothing of the worker's files is shown to it: it sees them by itself. */
const NO_FILES: ProjectFiles = {
  list: () => [],
  read: () => null,
  sizeOf: () => 0,
  find: () => ({ hits: [], searched: 0 }),
  source: { judges: () => false, look: () => ({ kind: "missing" }) },
  planOptions: { inflate: (data) => data },
};

/**
 * The worker's runs as a coder's draft: the tests judge them before anything is in the repository. Green lands. Red stays as a preview,
 * with all before it that did not land, and is sent back: to the planner, or without one to the worker.
 */
async function workInDraft(deps: RunTaskDeps, run: OpenedRun, prompt: string): Promise<void> {
  const { signal } = deps;
  const toResult = () => toJobResult(run.record);
  const land = async () => {
    if (keptJob(run.record) !== null) await landKept(deps, run);
    return toResult();
  };
  const bench: Bench = {
    ...createPlainBench({ files: NO_FILES, execute: async () => toResult() }),
    judge: async () => toJudgedAttempt(await runTest(deps, run)),
    changes: () => lastRun(run.record)?.job?.changes.map(toChange) ?? [],
    landInTurn: async () => ({ kind: "ended", result: await land() }),
    land,
    keep: async () => toResult(),
  };
  await coderLoop({
    coder: {
      kind: "head",
      work: async (attempt, back) => {
        if (attempt > 1) decideByItself(run, deps.messages.testsRed, `${prompt}\n\n${back}`);
        return runWorker(deps, run, attempt > 1 ? `${prompt}\n\n${back}` : prompt);
      },
    },
    bench,
    show: () => "",
    limits: {
      attempts: deps.meta === null ? (deps.attempts ?? 1) : 1,
      explore: 0,
      onRed: "preview",
      shownChars: 0,
    },
    planOnly: false,
    preview: deps.preview === true,
    steering: () => [],
    signal,
    tell: () => {},
    // The planner sees the journal alone, and its secrets are masked.
    mask: (text) => text,
    advise: createAdvise(),
  });
  run.checkLimits();
  // Without a change nothing was judged.
  if (testOfNow(run.record) === null) await runTest(deps, run);
}

function toChange({ path, kind }: RunJob["changes"][number]): RanJob["changes"][number] {
  return { path, kind: kind as RanJob["changes"][number]["kind"] };
}

function toJobResult({ facts, loops }: TaskRecord): RanJob {
  const job = loops.at(-1)?.run?.job ?? null;
  const outcome = (job?.outcome ?? "rolled-back") as RanJob["outcome"];
  return toRanJob({
    jobId: job?.id ?? "",
    groupId: facts.id,
    workspace: facts.repo,
    kind: "overlay",
    outcome,
    success: outcome === "committed",
    totalCmds: 1,
    executedCmds: 1,
    commands: [],
    changes: job?.changes.map(toChange) ?? [],
    conflicts: (job?.conflicts ?? []).map((path) => ({ path, reason: "changed" })),
  });
}

function toJudgedAttempt(test: TestRun | null): JudgedAttempt | null {
  if (test === null) return null;
  const isGreen = passes(test);
  const { command, exitCode, error, output } = test;
  return {
    verdict: isGreen ? "green" : "red",
    landsAnyway: false,
    report: isGreen ? "" : `$ ${command} → ${exitCode ?? "-"}\n${error ?? ""}\n${output}`,
    brief: isGreen ? "" : `${command} → ${exitCode ?? "-"}`,
    facts: test.judged === undefined ? notChecked("unavailable") : readChecksRecord(test.judged),
    runs: [],
  };
}

/** Brings the kept change in; what speaks against that is the end of the task. Null where this container does not have it. */
async function landKept(deps: RunTaskDeps, run: OpenedRun): Promise<RunJob | null> {
  const { executor, messages, signal } = deps;
  const job = await executor.land({ signal });
  if (job === null) return null;
  run.note({ type: "landed", loop: run.record.loops.length, job });
  if (job.conflicts.length > 0)
    throw run.failure("conflict", messages.conflict(nameRunJob(job), job.conflicts));
  if (job.outcome === "staged") throw run.failure("hook", messages.hookRefused(job.notes.at(-1) ?? ""));
  return job;
}

/** One run of the worker. One that failed may have left half of a change: it never lands by itself. */
async function runWorker(deps: RunTaskDeps, run: OpenedRun, prompt: string): Promise<HeadWorkResult> {
  const { executor, signal, messages } = deps;
  run.checkLimits();
  const refused = await deps.workers?.refusal();
  if (refused) throw run.failure("budget", messages.overBudget(refused.message));
  const loop = run.record.loops.length;
  run.note({ type: "worker-started", loop });
  const { facts } = run.record;
  const worked = await executor.runWorker(prompt, {
    signal,
    timeoutMs: Math.min(facts.maxRunTimeSec * 1000, run.remainingMs()),
    title: facts.title,
    preview: true,
    ...(deps.onProgress && { onProgress: deps.onProgress }),
  });
  await deps.workers?.count(facts.kind, worked.usage);
  run.note({ type: "worker-finished", loop, run: worked });
  run.checkLimits();
  if (worked.job !== null && worked.job.conflicts.length > 0)
    throw run.failure("conflict", messages.conflict(nameRunJob(worked.job), worked.job.conflicts));
  if (worked.missing !== undefined)
    throw run.failure("cannot-run", messages.cannotRun(worked.missing, facts.image));
  if (worked.error === null) return { kind: "ran", summary: worked.summary, results: [] };
  await runTest(deps, run);
  return { kind: "unanswered", text: inEveryLanguage(() => worked.error ?? "") };
}

async function runTest(deps: RunTaskDeps, run: OpenedRun): Promise<TestRun | null> {
  const { executor, signal, messages } = deps;
  const { facts } = run.record;
  if (facts.test === null) return null;
  run.checkLimits();
  const test = await executor.runTest(facts.test, {
    signal,
    timeoutMs: Math.min(facts.maxRunTimeSec * 1000, Math.max(1, run.remainingMs())),
    words: lastRun(run.record)?.summary ?? "",
  });
  run.checkLimits();
  run.note({ type: "tested", loop: run.record.loops.length, test });
  const missing = missingProgram(test);
  if (missing !== null) throw run.failure("cannot-run", messages.cannotRun(missing, facts.image));
  return test;
}
