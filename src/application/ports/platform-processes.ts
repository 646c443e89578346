/** The environment variable that every process of a job carries. */
export const JOB_VARIABLE = "PICOCLAW_JOB";

export type OutputStream = "stdout" | "stderr";

export interface ProcessRequest {
  /** The program and its arguments. A program without a slash is looked up in `env.PATH`. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment; nothing is inherited. `PICOCLAW_JOB` is added. */
  readonly env: Readonly<Record<string, string>>;
  /** Called once it has started, with what it reads on standard input. Absent: that is empty (`/dev/null`). */
  readonly stdin?: (input: ProcessInput) => void;
  /** From the start to the first signal. `Infinity` means no limit. */
  readonly timeoutMs: number;
  /** Between TERM and KILL. Default 1500. */
  readonly graceMs?: number | undefined;
  /** Aborting kills the tree like a timeout. */
  readonly signal?: AbortSignal | undefined;
  /** For each of `output`, `stdout`, `stderr`: the first and the last half are kept, the middle is dropped. */
  readonly outputLimitBytes: number;
  /** The text in place of the cut middle. */
  readonly cutNote?: ((cutBytes: number) => string) | undefined;
  /** Everything as it arrives, not capped, whole characters only. Not called after the result. Must not throw. */
  readonly onOutput?: ((stream: OutputStream, text: string) => void) | undefined;
  /** The job this process belongs to; `killJobProcesses` finds it and all its descendants by this. */
  readonly jobMarker: string;
}

/** Standard input of a process. Writing to one that has ended does nothing. */
export interface ProcessInput {
  write(text: string): void;
  /** Closes the input. Idempotent. */
  end(): void;
}

/** `timed-out` and `aborted` have the exit code or signal that the leader ended with, if any; `not-started` has an `error`. */
export type ProcessOutcome = "exited" | "signaled" | "timed-out" | "aborted" | "not-started";

export type StartFailureReason =
  | "program-missing"
  | "cwd-missing"
  | "not-permitted"
  | "arguments-too-long"
  | "no-resources"
  | "invalid-argument"
  | "unknown";

export interface StartFailure {
  readonly reason: StartFailureReason;
  readonly message: string;
  readonly cause: unknown;
}

export interface ProcessResult {
  readonly outcome: ProcessOutcome;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Both streams as they arrived. */
  readonly output: string;
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes missing from `output`. */
  readonly truncatedBytes: number;
  readonly durationMs: number;
  readonly running?: readonly string[];
  readonly error?: StartFailure;
  /** It failed, and the kernel ended a process meanwhile for lack of memory. */
  readonly outOfMemory?: true;
  /** The job was ended at its number of processes; `configured` is `worker.limits.processes`. */
  readonly tooMany?: { readonly most: number; readonly configured: number };
}

export interface RunningProcess {
  readonly pid: number;
  readonly command: string;
}

export interface KilledProcess extends RunningProcess {
  /** True when it could not be ended: another user's process, or stuck in the kernel. */
  readonly survived: boolean;
}

export interface ProcessRunner {
  /**
   * Runs one program in a session of its own and ends with its leader's exit: a background child does not hold the result. A timeout or
   * an abort ends the whole tree, detached children included; `running` then has what ran at that time. Never rejects.
   */
  readonly runProcess: (request: ProcessRequest) => Promise<ProcessResult>;
  /** The running processes of a job, including background ones. */
  readonly listJobProcesses: (jobMarker: string) => Promise<readonly RunningProcess[]>;
  /** For the end of a job: ends all it left behind and names it. Idempotent; bounded in time. */
  readonly killJobProcesses: (
    jobMarker: string,
    options?: { readonly graceMs?: number },
  ) => Promise<readonly KilledProcess[]>;
}
