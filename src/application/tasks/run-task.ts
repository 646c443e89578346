import {
  NO_USAGE,
  passes,
  type TaskEvent,
  type TaskFacts,
  type TaskFailureCode,
  type TaskUsage,
} from "../../domain/tasks/events.ts";
import {
  assessmentPrompt,
  decisionPrompt,
  metaSystemPrompt,
  planPrompt,
} from "../../domain/tasks/meta-prompts.ts";
import { readAssessment, readDecision, readPlan } from "../../domain/tasks/meta-protocol.ts";
import { isEnded } from "../../domain/tasks/state.ts";
import { renderNote, taskJson } from "../../domain/tasks/task-note.ts";
import { lastRun, recordOf, type TaskRecord, testsAllow, withEvent } from "../../domain/tasks/task-record.ts";
import type { TaskMessages } from "../../domain/texts/texts.ts";
import { askJson, type Reading } from "../models/ask-json.ts";
import { failureOf } from "../models/complete.ts";
import type { Model } from "../ports/model.ts";
import type { TaskFiles } from "../ports/task-files.ts";
import type { WorkerExecutor, WorkerProgress } from "../ports/worker-executor.ts";

export interface RunTaskParts {
  readonly files: TaskFiles;
  readonly executor: WorkerExecutor;
  /** Null with `--no-meta`. */
  readonly meta: Model | null;
  readonly metaSystemPrompt?: string;
  readonly messages: TaskMessages;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  /** Leaves the run's job as a preview; with `--no-meta` alone. */
  readonly preview?: boolean;
  readonly onRecord?: (record: TaskRecord, event: TaskEvent) => void;
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
export async function runTask(parts: RunTaskParts, start: TaskFacts | "resume"): Promise<TaskOutcome> {
  const { executor, signal } = parts;
  const run = openRun(parts, start);
  try {
    run.checkLimits();
    const started = await executor.start({
      signal,
      onProgress: (text) => parts.onProgress?.({ kind: "setup", text }),
    });
    run.checkLimits();
    if (!started.ok)
      throw run.failure(started.code === "aborted" ? "container" : started.code, started.message);
    const summary = parts.meta === null ? await withoutMeta(parts, run) : await withMeta(parts, run);
    run.note({ type: "completed", summary });
  } catch (error) {
    if (!(error instanceof Ended)) {
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

/** A task ends by itself only through these. */
class Ended extends Error {
  constructor(readonly event: NewEvent) {
    super(event.type);
  }
}

/** An event without its time, which the run gives it. */
type NewEvent = TaskEvent extends infer E ? (E extends TaskEvent ? Omit<E, "at"> : never) : never;

/** A task while it runs: its record so far, and its limits. */
interface Run {
  readonly record: TaskRecord;
  /** Writes it down before anything else happens. */
  note(event: NewEvent): void;
  failure(code: TaskFailureCode, reason: string): Ended;
  remainingMs(): number;
  /** Throws the end of a task that was stopped, or whose time is over. */
  checkLimits(): void;
}

function openRun(parts: RunTaskParts, start: TaskFacts | "resume"): Run {
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
  const failure: Run["failure"] = (code, reason) => new Ended({ type: "failed", code, reason });
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
      if (signal.aborted) throw new Ended({ type: "interrupted" });
      if (remainingMs() <= 0) throw failure("total-time", messages.totalTime(record.facts.maxTotalTimeSec));
    },
  };
}

async function withMeta(parts: RunTaskParts, run: Run): Promise<string> {
  if (run.record.state === "PENDING") {
    run.note({ type: "planning" });
    const { value, usage } = await ask(parts, run, planPrompt(run.record), readPlan);
    run.note({ type: "planned", criteria: value, usage });
  }
  const { maxLoops } = run.record.facts;
  while (run.record.loops.length < maxLoops)
    if (await runLoop(parts, run)) return run.record.loops.at(-1)?.assessment || parts.messages.allCriteria;
  throw run.failure("max-loops", parts.messages.maxLoops(maxLoops));
}

/** The requirements are the prompt, the exit code and the tests the judges. */
async function withoutMeta(parts: RunTaskParts, run: Run): Promise<string> {
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
async function runLoop(parts: RunTaskParts, run: Run): Promise<boolean> {
  const loop = run.record.loops.length + 1;
  const { value, usage } = await ask(parts, run, decisionPrompt(run.record), readDecision);
  run.note({ type: "decided", loop, ...value, usage });
  if (value.action === "run_worker") {
    await runWorker(parts, run, loop, value.prompt);
    return false;
  }
  run.note({ type: "validating", loop });
  const { record } = run;
  const judged = await ask(parts, run, assessmentPrompt(record), (text) =>
    readAssessment(text, record.criteria),
  );
  run.note({ type: "assessed", loop, ...judged.value, usage: judged.usage });
  return judged.value.verdicts.every(({ passed }) => passed) && testsAllow(run.record);
}

async function ask<T>(
  { meta, metaSystemPrompt: own, messages, signal }: RunTaskParts,
  run: Run,
  prompt: string,
  read: (text: string) => Reading<T>,
): Promise<{ readonly value: T; readonly usage: TaskUsage }> {
  run.checkLimits();
  const answer = await askJson(meta as Model, {
    request: { system: metaSystemPrompt(own), messages: [{ role: "user", text: prompt }], signal },
    read,
    deadline: AbortSignal.timeout(Math.max(1, run.remainingMs())),
  });
  const { inputTokens, outputTokens } = answer.usage;
  if (answer.kind === "read")
    return { value: answer.value, usage: { inputTokens, outputTokens, costUsd: 0 } };
  run.checkLimits();
  throw run.failure(
    "meta",
    answer.kind === "malformed"
      ? messages.metaMalformed(answer.problem)
      : messages.metaFailed(failureOf(answer).message),
  );
}

async function runWorker(parts: RunTaskParts, run: Run, loop: number, prompt: string): Promise<void> {
  const { executor, signal, messages } = parts;
  run.checkLimits();
  run.note({ type: "worker-started", loop });
  const { facts } = run.record;
  const worked = await executor.runWorker(prompt, {
    signal,
    timeoutMs: Math.min(facts.maxRunTimeSec * 1000, run.remainingMs()),
    title: facts.title,
    preview: parts.preview === true,
    ...(parts.onProgress && { onProgress: parts.onProgress }),
  });
  run.note({ type: "worker-finished", loop, run: worked });
  run.checkLimits();
  if (worked.job !== null && worked.job.conflicts.length > 0)
    throw run.failure("conflict", messages.conflict(worked.job.id, worked.job.conflicts));
  if (facts.test === null) return;
  const test = await executor.runTest(facts.test, {
    signal,
    timeoutMs: Math.min(facts.maxRunTimeSec * 1000, Math.max(1, run.remainingMs())),
  });
  run.checkLimits();
  run.note({ type: "tested", loop, test });
}
