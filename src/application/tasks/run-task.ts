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
  lastRun,
  missingProgram,
  passes,
  recordOf,
  type TaskEvent,
  type TaskFacts,
  type TaskFailureCode,
  type TaskRecord,
  type TestRun,
  testOfNow,
  withEvent,
} from "../../domain/tasks/task-record.ts";
import type { TaskMessages } from "../../domain/texts/tasks.ts";
import { askJson, completionFailure, type JsonReading, type Patience } from "../models/complete.ts";
import type { WorkerAccount } from "../models/meter.ts";
import type { Model } from "../ports/models.ts";
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
  constructor(readonly event: NewEvent) {
    super(event.type);
  }
}

/** An event without its time, which the run gives it. */
type NewEvent = TaskEvent extends infer E ? (E extends TaskEvent ? Omit<E, "at"> : never) : never;

/** A task while it runs: its record so far, and its limits. */
interface OpenedRun {
  readonly record: TaskRecord;
  /** Writes it down before anything else happens. */
  note(event: NewEvent): void;
  failure(code: TaskFailureCode, reason: string): RunEnded;
  remainingMs(): number;
  /** Throws the end of a task that was stopped, or whose time is over. */
  checkLimits(): void;
}

function openRun(parts: RunDeps, start: TaskFacts | "resume"): OpenedRun {
  const { files, messages, signal } = parts;
  const at = () => parts.now().toISOString();
  const opening: TaskEvent =
    start === "resume" ? { type: "resumed", at: at() } : { type: "created", at: at(), task: start };
  const before = recordOf(start === "resume" ? files.events() : [opening]);
  if (before === null) throw new Error("there is no such task");
  let record = start === "resume" ? withEvent(before, opening) : before;
  /** Since when the time of this process counts. */
  const startedAt = parts.now().getTime();
  const publish = (event: TaskEvent) => {
    files.append(event);
    files.writeNote(renderNote(record, messages), taskJson(record));
    parts.onRecord?.(record, event);
  };
  const failure: OpenedRun["failure"] = (code, reason) => new RunEnded({ type: "failed", code, reason });
  const remainingMs = () => record.facts.maxTotalTimeSec * 1000 - (parts.now().getTime() - startedAt);
  publish(opening);
  return {
    get record() {
      return record;
    },
    note(event) {
      const dated = { ...event, at: at() } as TaskEvent;
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
  /** Where the worker CLI's own use goes; absent where nothing is counted. */
  readonly workers?: WorkerAccount;
  /** Leaves the run's job as a preview; with `--no-meta` alone. */
  readonly preview?: boolean;
  readonly onProgress?: (
    progress: WorkerProgress | { readonly kind: "setup"; readonly text: string },
  ) => void;
}

/** `interrupted`: it can be taken up again. */
export interface TaskOutcome {
  readonly record: TaskRecord;
  readonly interrupted: boolean;
}

/**
 * The loop of a task file: criteria, then loop by loop a decision, a worker run and the tests, until the criteria and the
 * tests say that it is done, or a limit that it is not. Every step is in the journal before the next begins.
 */
export async function runTask(parts: RunTaskDeps, start: TaskFacts | "resume"): Promise<TaskOutcome> {
  const { executor, signal } = parts;
  const run = openRun(parts, start);
  try {
    run.checkLimits();
    const started = await executor.start({
      signal,
      ...(run.record.facts.test && { test: run.record.facts.test.command, request: run.record.facts.prd }),
      onProgress: (text) => parts.onProgress?.({ kind: "setup", text }),
    });
    run.checkLimits();
    if (!started.ok)
      throw run.failure(started.code === "aborted" ? "container" : started.code, started.message);
    run.note({ type: "prepared", image: started.image, notes: started.notes });
    const summary = parts.meta === null ? await withoutMeta(parts, run) : await withMeta(parts, run);
    run.note({ type: "completed", summary });
  } catch (error) {
    if (!(error instanceof RunEnded)) {
      const reason = error instanceof Error ? error.message : String(error);
      run.note({ type: "failed", code: "bug", reason });
      throw error;
    }
    run.note(error.event);
  } finally {
    await executor.stop();
  }
  const { record } = run;
  return { record, interrupted: !isEnded(record.state) };
}

async function withMeta(parts: RunTaskDeps, run: OpenedRun): Promise<string> {
  if (run.record.state === "PENDING") {
    run.note({ type: "planning" });
    const { value, usage } = await askMeta(parts, run, planPrompt(run.record), readCriteriaPlan);
    run.note({ type: "planned", criteria: value, usage });
  }
  const { maxLoops } = run.record.facts;
  while (run.record.loops.length - run.record.loopsBefore < maxLoops)
    if (await runLoop(parts, run)) return run.record.loops.at(-1)?.assessment || parts.messages.allCriteria;
  throw run.failure("max-loops", parts.messages.maxLoops(maxLoops));
}

/** The requirements are the prompt, the exit code and the tests the judges. */
async function withoutMeta(parts: RunTaskDeps, run: OpenedRun): Promise<string> {
  const { messages } = parts;
  if (run.record.state === "PENDING") {
    run.note({ type: "planning" });
    run.note({ type: "planned", criteria: [], usage: NO_USAGE });
  }
  const loop = run.record.loops.length + 1;
  const prompt = run.record.facts.prd;
  run.note({ type: "decided", loop, action: "run_worker", reason: "--no-meta", prompt, usage: NO_USAGE });
  await runWorker(parts, run, loop, prompt);
  const last = run.record.loops.at(-1);
  if (last?.run && last.run.error !== null) throw run.failure("worker", last.run.error);
  if (last?.test && !passes(last.test))
    throw run.failure("test", last.test.error ?? messages.testFailed(last.test.exitCode ?? -1));
  run.note({ type: "validating", loop });
  return lastRun(run.record)?.summary || messages.workerDone;
}

/** One loop; true when the task is done. */
async function runLoop(parts: RunTaskDeps, run: OpenedRun): Promise<boolean> {
  const loop = run.record.loops.length + 1;
  const { value, usage } = await askMeta(parts, run, decisionPrompt(run.record), readDecision);
  run.note({ type: "decided", loop, ...value, usage });
  if (value.action === "run_worker") {
    await runWorker(parts, run, loop, value.prompt);
    return false;
  }
  // Tests that are red, or never ran on the current files, need no model to validate them.
  const test = await testNow(parts, run, loop);
  if (test !== null && !passes(test)) {
    run.note({ type: "refused", loop, exitCode: test.exitCode });
    return false;
  }
  run.note({ type: "validating", loop });
  const { record } = run;
  const judged = await askMeta(parts, run, assessmentPrompt(record), (text) =>
    readAssessment(text, record.criteria),
  );
  run.note({ type: "assessed", loop, ...judged.value, usage: judged.usage });
  return judged.value.verdicts.every(({ passed }) => passed);
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

async function runWorker(parts: RunTaskDeps, run: OpenedRun, loop: number, prompt: string): Promise<void> {
  const { executor, signal, messages } = parts;
  run.checkLimits();
  const refused = await parts.workers?.refusal();
  if (refused) throw run.failure("budget", messages.overBudget(refused.message));
  run.note({ type: "worker-started", loop });
  const { facts } = run.record;
  const worked = await executor.runWorker(prompt, {
    signal,
    timeoutMs: Math.min(facts.maxRunTimeSec * 1000, run.remainingMs()),
    title: facts.title,
    preview: parts.preview === true,
    ...(parts.onProgress && { onProgress: parts.onProgress }),
  });
  await parts.workers?.count(facts.kind, worked.usage);
  run.note({ type: "worker-finished", loop, run: worked });
  run.checkLimits();
  if (worked.job !== null && worked.job.conflicts.length > 0)
    throw run.failure("conflict", messages.conflict(worked.job.id, worked.job.conflicts));
  if (worked.missing !== undefined)
    throw run.failure("cannot-run", messages.cannotRun(worked.missing, facts.image));
  await runTest(parts, run, loop);
}

/** The tests on the current files: as they ran, else run for this; null without any. */
async function testNow(parts: RunTaskDeps, run: OpenedRun, loop: number): Promise<TestRun | null> {
  return testOfNow(run.record) ?? runTest(parts, run, loop);
}

async function runTest(parts: RunTaskDeps, run: OpenedRun, loop: number): Promise<TestRun | null> {
  const { executor, signal, messages } = parts;
  const { facts } = run.record;
  if (facts.test === null) return null;
  run.checkLimits();
  const test = await executor.runTest(facts.test, {
    signal,
    timeoutMs: Math.min(facts.maxRunTimeSec * 1000, Math.max(1, run.remainingMs())),
  });
  run.checkLimits();
  run.note({ type: "tested", loop, test });
  const missing = missingProgram(test);
  if (missing !== null) throw run.failure("cannot-run", messages.cannotRun(missing, facts.image));
  return test;
}
