import {
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
import type { TaskMessages } from "../../domain/texts/tasks/messages.ts";
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

/** A task ends by itself only through these. */
class Ended extends Error {
  constructor(readonly event: TaskEvent) {
    super(event.type);
  }
}

/**
 * The loop of a task file: criteria, then turn by turn a decision, a worker run and the tests, until the criteria and the
 * tests say that it is done, or a limit that it is not. Every step is in the journal before the next begins.
 */
export async function runTask(parts: RunTaskParts, start: TaskFacts | "resume"): Promise<TaskOutcome> {
  const { files, executor, signal } = parts;
  const at = () => parts.now().toISOString();
  const opening: TaskEvent =
    start === "resume" ? { type: "resumed", at: at() } : { type: "created", at: at(), task: start };
  let record = opened();

  function opened(): TaskRecord {
    const before = recordOf(start === "resume" ? files.events() : [opening]);
    if (before === null) throw new Error("there is no such task");
    return start === "resume" ? withEvent(before, opening) : before;
  }

  function publish(event: TaskEvent): void {
    files.append(event);
    files.writeNote(renderNote(record, parts.messages), taskJson(record));
    parts.onRecord?.(record, event);
  }

  function note(event: TaskEvent): void {
    record = withEvent(record, event);
    publish(event);
  }

  const fail = (code: TaskFailureCode, reason: string) =>
    new Ended({ type: "failed", at: at(), code, reason });

  /** Since when the time of this process counts. */
  const startedAt = parts.now().getTime();
  function remainingMs(): number {
    return record.facts.maxTotalTimeSec * 1000 - (parts.now().getTime() - startedAt);
  }

  function checkLimits(): void {
    if (signal.aborted) throw new Ended({ type: "interrupted", at: at() });
    if (remainingMs() <= 0) throw fail("total-time", parts.messages.totalTime(record.facts.maxTotalTimeSec));
  }

  async function ask<T>(
    prompt: string,
    read: (text: string) => Reading<T>,
  ): Promise<{ readonly value: T; readonly usage: TaskUsage }> {
    checkLimits();
    const answer = await askJson(parts.meta as Model, {
      request: {
        system: metaSystemPrompt(parts.metaSystemPrompt),
        messages: [{ role: "user", text: prompt }],
        signal,
      },
      read,
      deadline: AbortSignal.timeout(Math.max(1, remainingMs())),
    });
    const { inputTokens, outputTokens } = answer.usage;
    if (answer.kind === "read")
      return { value: answer.value, usage: { inputTokens, outputTokens, costUsd: 0 } };
    checkLimits();
    throw fail(
      "meta",
      answer.kind === "malformed"
        ? parts.messages.metaMalformed(answer.problem)
        : parts.messages.metaFailed(failureOf(answer).message),
    );
  }

  async function work(loop: number, prompt: string): Promise<void> {
    checkLimits();
    note({ type: "worker-started", at: at(), loop });
    const { facts } = record;
    const run = await executor.runWorker(prompt, {
      signal,
      timeoutMs: Math.min(facts.maxRunTimeSec * 1000, remainingMs()),
      title: facts.title,
      preview: parts.preview === true,
      ...(parts.onProgress && { onProgress: parts.onProgress }),
    });
    note({ type: "worker-finished", at: at(), loop, run });
    checkLimits();
    if (run.job !== null && run.job.conflicts.length > 0)
      throw fail("conflict", parts.messages.conflict(run.job.id, run.job.conflicts));
    if (facts.test === null) return;
    const test = await executor.runTest(facts.test, {
      signal,
      timeoutMs: Math.min(facts.maxRunTimeSec * 1000, Math.max(1, remainingMs())),
    });
    checkLimits();
    note({ type: "tested", at: at(), loop, test });
  }

  /** One turn; true when the task is done. */
  async function turn(): Promise<boolean> {
    const loop = record.turns.length + 1;
    const { value, usage } = await ask(decisionPrompt(record), readDecision);
    note({ type: "decided", at: at(), loop, ...value, usage });
    if (value.action === "run_worker") {
      await work(loop, value.prompt);
      return false;
    }
    note({ type: "validating", at: at(), loop });
    const judged = await ask(assessmentPrompt(record), (text) => readAssessment(text, record.criteria));
    note({ type: "assessed", at: at(), loop, ...judged.value, usage: judged.usage });
    return judged.value.verdicts.every(({ passed }) => passed) && testsAllow(record);
  }

  async function withMeta(): Promise<string> {
    if (record.state === "PENDING") {
      note({ type: "planning", at: at() });
      const { value, usage } = await ask(planPrompt(record), readPlan);
      note({ type: "planned", at: at(), criteria: value, usage });
    }
    while (record.turns.length < record.facts.maxLoops)
      if (await turn()) return record.turns.at(-1)?.assessment || parts.messages.allCriteria;
    throw fail("max-loops", parts.messages.maxLoops(record.facts.maxLoops));
  }

  /** The requirements are the prompt, the exit code and the tests the judges. */
  async function withoutMeta(): Promise<string> {
    if (record.state === "PENDING") {
      note({ type: "planning", at: at() });
      note({
        type: "planned",
        at: at(),
        criteria: [],
        usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
      });
    }
    const loop = record.turns.length + 1;
    const prompt = record.facts.prd;
    const usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
    note({ type: "decided", at: at(), loop, action: "run_worker", reason: "--no-meta", prompt, usage });
    await work(loop, prompt);
    const last = record.turns.at(-1);
    if (last?.run && last.run.error !== null) throw fail("worker", last.run.error);
    if (last?.test && !passes(last.test))
      throw fail("test", last.test.error ?? parts.messages.testFailed(last.test.exitCode ?? -1));
    note({ type: "validating", at: at(), loop });
    return lastRun(record)?.summary || parts.messages.workerDone;
  }

  publish(opening);
  try {
    checkLimits();
    const started = await executor.start({
      signal,
      onProgress: (text) => parts.onProgress?.({ kind: "setup", text }),
    });
    checkLimits();
    if (!started.ok) throw fail(started.code === "aborted" ? "container" : started.code, started.message);
    const summary = parts.meta === null ? await withoutMeta() : await withMeta();
    note({ type: "completed", at: at(), summary });
  } catch (error) {
    if (!(error instanceof Ended)) {
      note({
        type: "failed",
        at: at(),
        code: "bug",
        reason: error instanceof Error ? error.message : String(error),
      });
      throw error;
    }
    note(error.event);
  } finally {
    await executor.stop();
  }
  return { record, interrupted: !isEnded(record.state) };
}
