import type { Config, ConfigOverrides } from "../../config/config.ts";
import type { Change, Conflict, JobResult, NoteFact, OpenInterruption } from "../../domain/jobs/result.ts";
import type { ParseResult } from "../../domain/patch/patch-command.ts";
import type { PlanOptions } from "../../domain/patch/plan-edit.ts";
import type { Protection } from "../../domain/policy/protection.ts";
import type { ConfigProblem, ConfigWarning } from "../../domain/texts/config-problem.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import type { WordsByLocale } from "../../domain/texts/worded.ts";
import type { CheckSlots } from "../platform/check-slots.ts";
import type { JobArchive, JobEvent, JobProcess, OwnGit, StoredJob } from "./jobs.ts";
import type { DraftRequest, OpenedDraft } from "./jobs-draft.ts";
import type {
  BeginRequest,
  BeginResult,
  DamagedUndo,
  DamageSearch,
  JobState,
  RepairedJob,
  RepairedRecord,
  Staging,
  Transactions,
  UntouchedPath,
  UnusableJob,
} from "./jobs-transaction.ts";
import type { Logger } from "./platform.ts";
import type { ProcessRunner } from "./platform-processes.ts";
import type { WorkspaceFiles } from "./platform-view.ts";

/**
 * The only place where anything is read, written or run: a folder of this machine, or the project in a container. Every change is
 * a job, except those staged with `begin`. Expected failures are values; a call rejects for a bug or a missing workspace. It may be
 * open many times, in many processes: commits take turns by a lock, and a caller that cannot have it gets `busy`.
 */
export interface Workspace {
  /** Absolute, without symlinks; in a container, the path there. */
  readonly root: string;
  /** Absolute paths under which a caller may know the root; the root is the first. */
  readonly rootNames: readonly string[];
  /** The folder of this machine that keeps its jobs and their undo records. */
  readonly storage: string;
  readonly files: WorkspaceFiles;
  readonly protection: Protection;
  /** The jobs of every process. Reading waits for no lock and never fails for a half-written job. */
  readonly archive: JobArchive;
  readonly staging: Staging;
  /**
   * Carries out a patch as one job. A failed command is in the result; a refusal says that nothing ran. An aborted job is taken back
   * where that can be. Not idempotent: each call is a job of its own.
   */
  execute(request: JobRequest): Promise<JobResult>;
  /**
   * Opens a transaction under a new job's id, until it is sealed or discarded; other jobs run beside it. In a folder no one sees its
   * changes before the commit; in a container they happen at once, and `discard` puts edits back.
   */
  begin(request: BeginRequest): Promise<BeginResult>;
  /** Opens a job that stays open while a coder works; refused where nothing can be staged. */
  openDraft(request: DraftRequest): Promise<OpenedDraft>;
  /** Commits exactly the staged changes of a preview; no command runs again. A conflict leaves the preview as it is. */
  commitPreview(jobId: string): Promise<PreviewCommit>;
  /** Harmless for a job that is not a preview any more. */
  discardPreview(jobId: string): Promise<PreviewDiscard>;
  /** Throws away a job of any process that has not begun to land: its later commit is refused. Harmless for any other. */
  withdraw(jobId: string): Promise<void>;
  /** Undo or redo of a job, a group or the last job. A conflict changes nothing of its job and ends a group; a second call is `refused`. */
  takeBack(request: TakeBackRequest): Promise<TakeBack>;
  /** Ends a running job of another process and waits at most 20 seconds until it is taken back. */
  stop(jobId: string): Promise<StopJobResult>;
  /** Finishes a swap that a crash interrupted; null when none was. To be called before something new is built on it. */
  repair(halted?: string): Promise<RepairedJob | null>;
  repairRecords(): Promise<readonly RepairedRecord[]>;
  /** The jobs whose undo data is damaged, and what could be rebuilt; nothing is changed. */
  findDamagedUndo(options: DamageSearch): Promise<readonly DamagedUndo[]>;
  /** The swap that was cut off and waits for a repair; null if there is none, or another process is repairing it. Nothing is changed. */
  findInterruption(): Promise<OpenInterruption | null>;
  /** Closes jobs whose process died: they had applied nothing. Returns their ids; none is left for a second call. */
  closeDeadJobs(): Promise<readonly string[]>;
  /** Whether the very process of a job still runs; false where none is known. */
  isAlive(job: JobProcess): boolean;
  /** Runs the user's commands for a message that has been answered. A note for each that failed; they are logged as well. */
  afterMessage(variables: Readonly<Record<string, string>>): Promise<readonly NoteFact[]>;
  /** Removes secrets from a text, those of this environment too. Idempotent. */
  mask(text: string): string;
}

export interface OpenOptions {
  readonly cwd: string;
  /** Default: the configured one, else `cwd`. */
  readonly workspace?: string;
  /** Default: the workspace's own file, else the one in `PICOCLAW_HOME`. */
  readonly configFile?: string;
  /** Settings above those of every file and variable. */
  readonly flags?: ConfigOverrides;
  /** The process with which background processes end. Default: this one. */
  readonly endsWith?: number;
  /** Takes the rights of others away from a storage of jobs that is the user's own in all parts. */
  readonly reclaimStorage?: boolean;
}

export interface OpenedWorkspace {
  readonly workspace: Workspace;
  readonly config: Config;
  readonly messages: Messages;
  readonly warnings: readonly ConfigWarning[];
}

/** Nothing was opened and nothing ran. */
export interface NotOpened {
  readonly ok: false;
  /** 2: the configuration is not valid. 3: something that it needs is not there. */
  readonly exitCode: 2 | 3;
  readonly messages: Messages;
  readonly problems: readonly ConfigProblem[];
  readonly message?: string;
}

export type Opening<T = unknown> = (T & OpenedWorkspace & { readonly ok: true }) | NotOpened;

export interface DoctorCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
  readonly remedy?: string;
  /** PicoClaw works without it: `doctor` reports it and does not fail. */
  readonly optional?: boolean;
}

export interface TakeBackRequest {
  readonly direction: "undo" | "redo";
  /** A job id, a group id, or nothing for the last one. */
  readonly name?: string;
  readonly force: boolean;
}

export interface TakenBack {
  readonly job: StoredJob;
  readonly changes: readonly Change[];
  readonly left: readonly UntouchedPath[];
  /** The job that took it back by a merge, because its files were changed since. */
  readonly mergedBy?: string;
  /** The verdict of the project's checks on the merge. */
  readonly checked?: WordsByLocale;
  readonly rebuilt?: string;
}

/** `repaired`: an earlier swap had been cut off, and was finished first. */
export type TakeBack = TakeBackOutcome & { readonly repaired?: RepairedJob };

export type TakeBackOutcome =
  | { readonly status: "done"; readonly jobs: readonly TakenBack[] }
  | { readonly status: "nothing" }
  | { readonly status: "unknown"; readonly name: string }
  | {
      readonly status: "refused";
      readonly job: StoredJob;
      readonly reason: "evicted" | "wrong-state" | "busy" | "not-undoable" | "running" | UnusableJob;
      readonly state: JobState;
      /** `damaged`, `closed`, `newer`: the file that cannot be read; `data-gone`: the paths without undo data. */
      readonly paths?: readonly string[];
      readonly before: readonly TakenBack[];
    }
  | {
      readonly status: "conflict";
      readonly job: StoredJob;
      readonly conflicts: readonly Conflict[];
      readonly before: readonly TakenBack[];
    };

export type PreviewCommit =
  /** `notes`: hooks that failed afterwards. */
  | { readonly status: "done"; readonly job: StoredJob; readonly notes: readonly NoteFact[] }
  | { readonly status: "unknown" }
  /** It is not a preview, or no longer one: committed, undone, discarded or evicted. */
  | { readonly status: "not-a-preview"; readonly job: StoredJob }
  | { readonly status: "busy" }
  /** Its record cannot be read, or its staged changes are lost. */
  | { readonly status: "unusable"; readonly reason: UnusableJob; readonly paths: readonly string[] }
  | { readonly status: "conflict"; readonly job: StoredJob; readonly conflicts: readonly Conflict[] };

export type PreviewDiscard =
  | { readonly status: "done" }
  | { readonly status: "unknown" }
  | { readonly status: "not-a-preview" };

export type StopJobResult =
  | { readonly status: "stopped" }
  | { readonly status: "unknown" }
  | { readonly status: "not-running"; readonly state: JobState };

export interface EditPolicy {
  readonly protection: Protection;
  readonly rootNames: readonly string[];
}

export interface ExecuteRequest
  extends Pick<
    DraftRequest,
    | "request"
    | "groupId"
    | "source"
    | "startedBy"
    | "sessionKey"
    | "commandTimeoutSeconds"
    | "signal"
    | "onOutput"
  > {
  readonly patch: string;
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
  readonly onStart?: (jobId: string) => void;
  readonly onEvent?: (event: JobEvent) => void;
}

type Choice = "dryRun" | "preview" | "atomic" | "stopOnError" | "autoCommit";

/** The workspace's settings fill in what is left out; `preview` and `atomic` are off unless the caller asks for them. */
export type JobRequest = Omit<ExecuteRequest, Choice> & { readonly [K in Choice]?: boolean | undefined };

/** `worker.limits`: 0 means no limit; sizes in bytes. */
export type LimitSettings = Config["worker"]["limits"];

/** Times are in seconds, sizes in bytes. */
export type WorkerConfig = Config["worker"];

export type HookSettings = Config["hooks"];

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
  /** Called right before a job is applied: false if others may take this process for dead. Default: true. */
  readonly mayCommit?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Shared by all workspaces of a process; without it checks run as they come. */
  readonly checkSlots?: CheckSlots;
  /** The user's own commands around landings; absent where there are none. */
  readonly hooks?: HookSettings;
  /** True once in a home: the list of `worker.model_network` does not hold here. Absent where that is another's to say. */
  readonly tellModelNetwork?: () => Promise<boolean>;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
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
