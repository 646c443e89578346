import type { RefusedHost } from "../../domain/containers/refused-hosts.ts";
import type { TaskUsage } from "../../domain/tasks/events.ts";
import type { ModelTool } from "./models.ts";
import type { ContainerClaim } from "./containers.ts";

/** Environments as a task from a forge uses them: one container per task, gone when the task ends. */
export interface TaskEnvironments {
  /** Name → image. */
  available(): Readonly<Record<string, string>>;
  /** The tools that work in an environment: `command-executor_execute_command` and `text_editor`. */
  readonly tools: readonly ModelTool[];
  /** What the system prompt says about them. */
  readonly promptFragment: (environmentName: string) => string;
  /** Makes the container, clones the project into it and installs what it needs. Leaves nothing when it fails. */
  prepare(request: PrepareTask): Promise<TaskEnvironment | EnvironmentTrouble>;
  /** Removes the task's container of that claim and what belongs to it; fine when there is none. */
  remove(taskId: string, claim: ContainerClaim): Promise<void>;
}

export interface PrepareTask {
  readonly taskId: string;
  /** For which claim it is made: one that lost the task neither replaces nor removes its successor's. */
  readonly claim: ContainerClaim;
  /** Null: by the project's files, else the default. */
  readonly environment: string | null;
  /** A worker CLI that is to work there; its own image then is the environment. */
  readonly worker: string | null;
  readonly cloneUrl: string;
  readonly credentials: { readonly username: string; readonly token: string };
  readonly branch: string;
  /** Fetched as well, for comparing. */
  readonly targetBranch: string | null;
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
}

export interface FailedInstall {
  readonly command: string;
  readonly output: string;
  /** By our own rules, whatever the program calls it. */
  readonly refused: readonly RefusedHost[];
  /** The rest was installed without these; null where nothing was. */
  readonly leftOut: readonly string[] | null;
}

export interface TaskEnvironment {
  readonly ok: true;
  readonly name: string;
  /** The commit that was cloned. */
  readonly baseCommit: string;
  /** What did not go well, in plain words: a failed install. */
  readonly warnings: readonly string[];
  /** Installations that failed, with the end of what they printed. */
  readonly failedInstalls: readonly FailedInstall[];
  /** Calls one of `TaskEnvironments.tools` as the model asks; the text says what was refused or failed. */
  call(tool: string, args: unknown, signal: AbortSignal): Promise<EnvironmentCall>;
  /** Runs a command of ours, not of the model's: no policy. */
  run(command: string, signal: AbortSignal): Promise<RunInEnvironment>;
  /** All bytes that such a command prints, up to the limit; a text says why there are none. */
  print(command: string, options: PrintOptions): Promise<Uint8Array | string>;
  /** Lets the worker CLI work; only where one was asked for. Never rejects. */
  runWorker?(prompt: string, options: WorkerOptions): Promise<WorkerOutcome>;
  /**
   * What lies there now against `baseCommit`; a text says why there is none. `exact`: every file is read anew and no setting that
   * the project's code could write is believed.
   */
  difference(signal: AbortSignal, how: { readonly exact: boolean }): Promise<Difference | string>;
  /**
   * Does something while the project's files are as the installation left them. The change is put back afterwards, whatever
   * happens; rejects only with what `act` rejects with, or when it cannot be put back.
   */
  asCloned<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Brings such a difference in; a text says why it could not. */
  bringIn(patch: Uint8Array, signal: AbortSignal): Promise<string | null>;
}

export interface Difference {
  /** `git diff --binary --full-index`. */
  readonly patch: Uint8Array;
  /** The tree of the base with the patch, as the environment names it. */
  readonly tree: string;
}

export interface PrintOptions {
  readonly stdin?: string | Uint8Array;
  readonly limitBytes: number;
  readonly signal: AbortSignal;
}

export interface WorkerOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
}

export interface WorkerOutcome {
  readonly usage: TaskUsage;
  /** What a person should know of its login. */
  readonly notes: readonly string[];
  /** What the CLI said at its end. */
  readonly summary: string;
  /** Why it failed; null when it did not. */
  readonly error: string | null;
  readonly exitCode: number;
  readonly durationMs: number;
}

export interface EnvironmentCall {
  readonly text: string;
  readonly ok: boolean;
  /** Of a command that ran. */
  readonly command?: RunInEnvironment & { readonly command: string };
}

export interface RunInEnvironment {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

/** `message` is for a person, in their language, without secrets. */
export interface EnvironmentTrouble {
  readonly ok: false;
  readonly kind: "container" | "clone" | "aborted";
  readonly message: string;
}
