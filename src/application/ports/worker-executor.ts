import type { TestRun, WorkerRun } from "../../domain/tasks/events.ts";
import type { SandboxFailure } from "./containers.ts";

/**
 * A worker CLI in a container of its own: started once for a task, used for every run, stopped at the
 * end. Nothing rejects for what can be expected.
 */
export interface WorkerExecutor {
  /** Makes the container ready, its image first: pulled, else built. Idempotent. */
  start(options: {
    readonly signal: AbortSignal;
    /** A command that is going to be run: where its program is missing, nothing is begun. */
    readonly test?: string;
    readonly onProgress?: (text: string) => void;
  }): Promise<ExecutorStarted>;
  /** One run of the CLI, as one job on the repository. A failed run is a result, not a failure of this call. */
  runWorker(prompt: string, options: RunOptions): Promise<WorkerRun>;
  /** Runs a command beside the worker, in its view; what it changes is nobody's job and stays in the container. */
  runTest(test: { readonly command: string; readonly cwd: string }, options: RunOptions): Promise<TestRun>;
  /** Removes the container with all it held. Idempotent; never throws. */
  stop(): Promise<void>;
}

export type ExecutorStarted =
  | {
      readonly ok: true;
      readonly container: string;
      readonly image: string;
      readonly staging: "overlay" | "copy";
      /** For the person whose task it is. */
      readonly notes: readonly string[];
    }
  | {
      readonly ok: false;
      readonly code: ExecutorFailureCode;
      readonly message: string;
      readonly cause?: SandboxFailure;
    };

/** `engine`: it does not answer. `image`: neither there, nor to be pulled or built. `cannot-run`: it lacks a program. */
export type ExecutorFailureCode = "engine" | "image" | "container" | "credentials" | "cannot-run" | "aborted";

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onProgress?: (progress: WorkerProgress) => void;
  /** The title of the job. */
  readonly title?: string;
  readonly preview?: boolean;
}

/** What a worker CLI says while it works. */
export type WorkerProgress =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "edit"; readonly path: string }
  | { readonly kind: "tool"; readonly name: string }
  | {
      readonly kind: "trouble";
      readonly code: "unauthorized" | "unreachable" | "other";
      readonly text: string;
    };
