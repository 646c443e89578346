import type { Config } from "../../config/config.ts";
import type { NoteFact } from "../../domain/jobs/note.ts";
import { type Conflict, isOfInterrupted } from "../../domain/jobs/result.ts";
import type { ParseResult } from "../../domain/patch/patch-command.ts";
import type { PlanOptions } from "../../domain/patch/plan-edit.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import type { JobArchive, JobEvent, OwnGit, StoredJob } from "../ports/jobs.ts";
import type { DraftRequest } from "../ports/jobs-draft.ts";
import type { HeadProcess } from "../ports/jobs-head.ts";
import type { RepairedJob, Staging, Transactions } from "../ports/jobs-transaction.ts";
import type { Logger } from "../ports/platform.ts";
import type { ProcessRunner } from "../ports/platform-processes.ts";
import type { CheckSlots } from "./check-slots.ts";
import type { EditPolicy } from "./edit-policy.ts";
import type { RunProcessDeps } from "./run-shell.ts";

export interface ExecuteRequest
  extends Pick<
    DraftRequest,
    "request" | "groupId" | "source" | "sessionKey" | "commandTimeoutSeconds" | "signal" | "onOutput"
  > {
  readonly patch: string;
  /** The patch, where the caller has parsed it. */
  readonly parsed?: ParseResult;
  /** The coder's plan; its first line is the job's title if there is no request text. */
  readonly plan?: string;
  /** The job that this one undoes or redoes by a merge. */
  readonly reverses?: string;
  readonly dryRun: boolean;
  readonly preview: boolean;
  /** Lets a preview reach the network; a job that is applied always may. */
  readonly allowNetwork?: boolean;
  readonly atomic: boolean;
  readonly stopOnError: boolean;
  readonly autoCommit: boolean;
  /** Called once, before the first command. */
  readonly onStart?: (jobId: string) => void;
  /** Progress for a person who is watching. */
  readonly onEvent?: (event: JobEvent) => void;
}

type Choice = "dryRun" | "preview" | "atomic" | "stopOnError" | "autoCommit";

/**
 * A job as a caller asks a workspace for it. Dry run, stop on error and auto-commit default to its settings; a preview
 * and all-or-nothing are only what the caller asks for.
 */
export type JobRequest = Omit<ExecuteRequest, Choice> & { readonly [K in Choice]?: boolean | undefined };

/** `worker.limits`: 0 means no limit; sizes in bytes. */
export type LimitSettings = Config["worker"]["limits"];

/** The slice of `worker:` that jobs are carried out by. Times are in seconds, sizes in bytes. */
export interface WorkerConfig {
  readonly dry_run: boolean;
  readonly stop_on_error: boolean;
  readonly auto_commit: boolean;
  readonly commit_message_prefix: string;
  readonly command_timeout: number;
  readonly git_timeout: number;
  readonly show_execution_summary: boolean;
  readonly undo_quota: number;
  readonly journal_days: number;
  readonly output_limit: number;
  readonly env_pass: readonly string[];
  readonly run_hooks: boolean;
  readonly confine: "auto" | "on" | "off";
  readonly limits: LimitSettings;
  readonly network: { readonly mode: "on" | "off" | "allow_list" };
}

export type HookSettings = Config["hooks"];

/** Everything that jobs of a workspace need, wired by hand. */
export interface WorkspaceDeps {
  readonly root: string;
  readonly config: WorkerConfig;
  readonly staging: Staging;
  readonly transactions: Transactions;
  readonly archive: JobArchive;
  readonly policy: EditPolicy;
  readonly planOptions: Required<PlanOptions>;
  /** Loaded when the first process is needed. */
  readonly processes: () => Promise<ProcessRunner>;
  /** Null where no git can be found that jobs cannot have put there. */
  readonly ownGit: () => Promise<OwnGit | null>;
  readonly logger: Logger;
  readonly messages: Messages;
  readonly mask: (text: string) => string;
  /** Whether the user trusts this folder's programs enough to run them without confinement. */
  readonly isTrusted: () => boolean;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** Identifies this process, so that a job whose process died is distinguished from one that runs. */
  readonly pid: number;
  readonly birth: string;
  /** Asked right before a job is brought in: a process that others take for dead must not. Default: it may. */
  readonly mayCommit?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Shared by all workspaces of a process; without it checks run as they come. */
  readonly checkSlots?: CheckSlots;
  /** The user's own commands around landings; absent where there are none. */
  readonly hooks?: HookSettings;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
}

type CommandEvent = Extract<JobEvent, { type: "command_started" | "command_finished" }>;

export interface RunCommandsDeps
  extends Omit<RunProcessDeps, "processes">,
    Pick<WorkspaceDeps, "processes" | "planOptions" | "mask" | "clock"> {
  readonly stopOnError: boolean;
  readonly commandTimeoutSeconds: number;
  readonly gitTimeoutSeconds: number;
  readonly limits: LimitSettings;
  readonly emit: (event: CommandEvent) => void;
  /** Works in the place of the one command. */
  readonly head?: HeadProcess | undefined;
}

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Nothing else may become the name of a folder. */
export function isJobId(name: string): boolean {
  return /^job_\d{1,12}_[0-9a-z]{8}$/.test(name);
}

/** `job_<unix seconds>_<8 characters>`. */
export function newJobId(now: Date, random: (bytes: number) => Uint8Array): string {
  let name = "";
  for (const byte of random(8)) name += ALPHABET[byte % ALPHABET.length];
  return `job_${Math.floor(now.getTime() / 1000)}_${name}`;
}

/** Something broke under a job (a full disk, a bug): nothing of it was applied. The cause is kept. */
export class JobBroken extends Error {
  constructor(
    readonly jobId: string,
    readonly workspace: string,
    cause: unknown,
    readonly jobName = jobId,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "JobBroken";
  }
}

/** The part of its limits that a job used up. Disk in bytes. */
export type ReachedLimit =
  | { readonly what: "changes" | "home"; readonly taken: number; readonly most: number }
  /** `most` is less than `configured` (`worker.limits.processes`) where no more could be left to a job. */
  | { readonly what: "processes"; readonly most: number; readonly configured: number }
  /** There was no room for the job to begin with: only so many processes could still be started. */
  | { readonly what: "no-processes"; readonly left: number };

/** A job took more than it may, and was ended; nothing of it is applied. */
export class LimitReached extends Error {
  readonly code = "LIMIT_REACHED";

  constructor(readonly reached: ReachedLimit) {
    super(`a limit of worker.limits was reached: ${JSON.stringify(reached)}`);
  }
}

/** The kernel ended a process of the job, since memory had run out; nothing of the job is applied. */
export class MemoryRanOut extends Error {
  readonly code = "MEMORY_RAN_OUT";

  constructor() {
    super("the executor was ended while memory ran out");
  }
}

/** The notes for the next caller after an interrupted swap. A stuck swap is reported as a conflict. */
export function repairNotes(repaired: RepairedJob | null | undefined): NoteFact[] {
  if (!repaired || repaired.outcome === "stuck") return [];
  const { jobId, direction, outcome, left, aside } = repaired;
  return [{ code: "repaired", jobId, direction, outcome, paths: left, ...(aside && { aside }) }];
}

/** The job's own notes on swaps that were interrupted and repaired. */
export function notesOfInterruptions({ jobId, interruptions = [] }: StoredJob): NoteFact[] {
  return interruptions.flatMap(({ direction, outcome, left, aside }) =>
    outcome === "open"
      ? []
      : [{ code: "repaired", jobId, direction, outcome, paths: left, ...(aside && { aside }) } as const],
  );
}

/** An earlier job conflicts with every other until it is repaired. */
export function conflictsOfStuck({ conflicts, jobId }: RepairedJob): Conflict[] {
  return conflicts.map(({ path, reason }) => ({
    path,
    reason: isOfInterrupted(reason) ? reason : "interrupted",
    by: jobId,
  }));
}
