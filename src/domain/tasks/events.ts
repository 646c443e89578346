/** Everything that happens to a task, in order: its journal, from which its record, its note and a resume are made. */
export type TaskEvent =
  | { readonly type: "created"; readonly at: string; readonly task: TaskFacts }
  /** The container is there. `notes` is what a person should know of it. */
  | {
      readonly type: "prepared";
      readonly at: string;
      readonly image: string;
      readonly notes: readonly string[];
    }
  | { readonly type: "planning"; readonly at: string }
  | {
      readonly type: "planned";
      readonly at: string;
      readonly criteria: readonly Criterion[];
      readonly usage: TaskUsage;
    }
  /** A turn of the planning model. */
  | {
      readonly type: "decided";
      readonly at: string;
      readonly loop: number;
      readonly action: "run_worker" | "mark_complete";
      readonly reason: string;
      readonly prompt: string;
      readonly usage: TaskUsage;
    }
  | { readonly type: "worker-started"; readonly at: string; readonly loop: number }
  | { readonly type: "worker-finished"; readonly at: string; readonly loop: number; readonly run: WorkerRun }
  | { readonly type: "tested"; readonly at: string; readonly loop: number; readonly test: TestRun }
  /** The planner called it done, and the tests do not. */
  | {
      readonly type: "refused";
      readonly at: string;
      readonly loop: number;
      readonly exitCode: number | null;
    }
  | { readonly type: "validating"; readonly at: string; readonly loop: number }
  | {
      readonly type: "assessed";
      readonly at: string;
      readonly loop: number;
      readonly verdicts: readonly Verdict[];
      readonly summary: string;
      readonly usage: TaskUsage;
    }
  | { readonly type: "resumed"; readonly at: string }
  | { readonly type: "interrupted"; readonly at: string }
  | { readonly type: "completed"; readonly at: string; readonly summary: string }
  | { readonly type: "failed"; readonly at: string; readonly code: TaskFailureCode; readonly reason: string };

export type TaskFailureCode =
  | "container"
  | "image"
  | "engine"
  | "credentials"
  | "meta"
  | "max-loops"
  | "total-time"
  | "worker"
  | "test"
  | "conflict"
  /** The container lacks a program without which nothing can be done or judged. */
  | "cannot-run"
  /** The day's budget is spent. */
  | "budget"
  | "bug";

/** What was asked. No value of a variable is in it, only names. */
export interface TaskFacts {
  readonly id: string;
  readonly title: string;
  readonly repo: string;
  readonly description: string;
  readonly prd: string;
  readonly test: { readonly command: string; readonly cwd: string } | null;
  readonly kind: string;
  readonly image: string;
  readonly maxLoops: number;
  readonly maxRunTimeSec: number;
  readonly maxTotalTimeSec: number;
  readonly envNames: readonly string[];
  /** The planning model; null with `--no-meta`. */
  readonly meta: string | null;
}

export interface Criterion {
  readonly id: string;
  readonly description: string;
}

export interface Verdict {
  readonly id: string;
  readonly passed: boolean;
  readonly reason: string;
}

export interface TaskUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

export const NO_USAGE: TaskUsage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

export function addUsage(a: TaskUsage, b: TaskUsage): TaskUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    costUsd: a.costUsd + b.costUsd,
  };
}

/** One run of a worker CLI, and the job that it was. */
export interface WorkerRun {
  readonly id: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  /** Null when it did not end by itself. */
  readonly exitCode: number | null;
  /** Standard output and error, capped. */
  readonly rawOutput: string;
  readonly summary: string;
  /** Why it counts as failed; null when it does not. */
  readonly error: string | null;
  readonly usage: TaskUsage;
  /** What the CLI says it edited. */
  readonly saidChanged: readonly string[];
  /** The program of the worker CLI, where the container has none. */
  readonly missing?: string;
  /** What a person should know. */
  readonly notes?: readonly string[];
  /** What really changed, and where it is kept; null when nothing could be staged. */
  readonly job: RunJob | null;
}

export interface RunJob {
  readonly id: string;
  readonly outcome: string;
  readonly changes: readonly { readonly path: string; readonly kind: string }[];
  /** What it changed as a unified diff, head and tail of a long one. */
  readonly diff: string;
  readonly notes: readonly string[];
  /** Paths that changed on the host meanwhile, so that nothing was brought in. */
  readonly conflicts: readonly string[];
}

export interface TestRun {
  readonly command: string;
  readonly exitCode: number | null;
  readonly output: string;
  readonly durationMs: number;
  readonly error: string | null;
}

export function passes(test: TestRun): boolean {
  return test.exitCode === 0 && test.error === null;
}
