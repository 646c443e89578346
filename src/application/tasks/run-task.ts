import { NO_USAGE, passes, type TaskFacts, type TaskUsage, type TestRun } from "../../domain/tasks/events.ts";
import {
  assessmentPrompt,
  decisionPrompt,
  metaSystemPrompt,
  planPrompt,
} from "../../domain/tasks/meta-prompts.ts";
import { readAssessment, readCriteriaPlan, readDecision } from "../../domain/tasks/meta-protocol.ts";
import { missingProgram } from "../../domain/tasks/missing-program.ts";
import { isEnded } from "../../domain/tasks/state.ts";
import { lastRun, type TaskRecord, testOfNow } from "../../domain/tasks/task-record.ts";
import { askJson, type JsonReading } from "../models/ask-json.ts";
import { completionFailure, type Patience } from "../models/complete.ts";
import type { WorkerAccount } from "../models/meter.ts";
import type { Model } from "../ports/models.ts";
import type { WorkerExecutor, WorkerProgress } from "../ports/worker-executor.ts";
import { type OpenedRun, openRun, type RunDeps, RunEnded } from "./open-run.ts";

export interface RunTaskDeps extends RunDeps {
  readonly executor: WorkerExecutor;
  /** Null with `--no-meta`. */
  readonly meta: Model | null;
  readonly metaSystemPrompt?: string;
  /** For a planning model whose server is overloaded or failing. Default: its own tries are all. */
  readonly patience?: Patience;
  /** What the planner's last answer cost, in US dollars; default: nothing. */
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
      ...(run.record.facts.test && { test: run.record.facts.test.command }),
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
  // Tests that are red, or never ran on what stands now, need no model to be judged.
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

/** The tests on what stands now: as they ran, else run for this; null without any. */
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
