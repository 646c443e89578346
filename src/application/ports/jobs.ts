import type {
  CommandResult,
  Interruption,
  JobFigures,
  JobOutcome,
  RedReason,
  Unsettled,
} from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import type { JobState, StartedBy } from "./jobs-transaction.ts";

/** The append-only events of a job. Every string in them is masked before it is written. */
export type JobEvent =
  | {
      readonly type: "job_started";
      readonly workspace: string;
      readonly kind: string;
      readonly commands: number;
      readonly file_edits: number;
      readonly shell_commands: number;
      readonly git_operations: number;
    }
  | {
      readonly type: "command_started";
      readonly attempt?: number;
      readonly index: number;
      readonly command: PatchCommand;
    }
  | ({
      readonly type: "command_finished";
      readonly attempt?: number;
      readonly index: number;
    } & Pick<CommandResult, "success" | "output" | "error" | "duration" | "changes" | "notes">)
  /** A judgement after the command was finished, at the latest at the seal: its result is this instead. */
  | {
      readonly type: "command_judged";
      readonly index: number;
      readonly success: boolean;
      readonly error: string;
    }
  | {
      readonly type: "check_finished";
      readonly attempt: number;
      readonly over: "draft" | "baseline";
      /** Some files were as before, or broken on purpose: its end says nothing of the draft. */
      readonly altered?: true;
      readonly command: string;
      /** Null when it did not end by itself. */
      readonly exit_code: number | null;
      /** Head and tail. */
      readonly output: string;
      readonly duration: number;
    }
  | {
      readonly type: "auto_commit";
      readonly moment: "before" | "after";
      readonly commit: string | null;
      readonly error?: string;
    }
  /** Another's change of the file was merged with the job's, or `lost`; by null where no job made it. */
  | { readonly type: "merged"; readonly path: string; readonly by: string | null; readonly lost?: true }
  /** Parts of a coder's answer that nothing carried out, each by its first line. */
  | { readonly type: "answer_skipped"; readonly attempt?: number; readonly parts: readonly string[] }
  /** The coder's plan for an attempt: the reason that `why` shows for its lines. */
  | { readonly type: "planned"; readonly attempt: number; readonly plan: string }
  /** A step of a draft's coder; `detail` says which. `tokens`, `cost_usd`: the message's usage so far; absent in old journals. */
  | {
      readonly type: "doing";
      readonly attempt: number;
      readonly doing: DraftStep;
      readonly detail: string;
      readonly tokens?: number;
      readonly cost_usd?: number;
    }
  /** A sub-agent of a draft's coder. Its number counts from 1 within the draft. */
  | {
      readonly type: "agent_started";
      readonly agent: number;
      readonly task: string;
      readonly writes: boolean;
    }
  | { readonly type: "agent_step"; readonly agent: number; readonly doing: string }
  /** A user asked that this sub-agent ends; the others continue. */
  | { readonly type: "agent_stop"; readonly agent: number }
  | {
      readonly type: "agent_ended";
      readonly agent: number;
      readonly end: AgentEnd;
      readonly files: number;
      readonly tokens: number;
      readonly cost_usd: number;
    }
  | { readonly type: "staged"; readonly changes: number }
  | { readonly type: "committed"; readonly changes: number }
  | { readonly type: "conflict"; readonly paths: readonly string[] }
  | { readonly type: "rolled_back"; readonly reason: string }
  | { readonly type: "undone"; readonly changes: number }
  | { readonly type: "redone"; readonly changes: number }
  | { readonly type: "evicted"; readonly bytes: number }
  /** The quota of undo data was passed after this job: the data of the oldest jobs was removed. */
  | {
      readonly type: "quota_evicted";
      readonly jobs: readonly { readonly job_id: string; readonly bytes: number }[];
      readonly quota_bytes: number;
    }
  | { readonly type: "note"; readonly text: string };

export type DraftStep = "asking" | "running" | "checking";

/** `failed`: it had no result, or its work was not taken in whole. */
export type AgentEnd = "done" | "failed" | "stopped";

export interface JournalLine {
  readonly at: string;
  readonly event: JobEvent;
}

/** The record of a job, for `jobs` and `show`. Its state is the transaction's, read when asked. */
export interface JobRecord extends JobFigures {
  readonly source: string;
  /** Absent in records of older versions, whose commands all had the network of `worker.network`. */
  readonly startedBy?: StartedBy;
  /** First line of the request, else of the plan or of the patch. */
  readonly title: string;
  /** The request, if a user made one in words; masked and cut. */
  readonly request?: string;
  readonly createdAt: string;
  readonly finishedAt: string;
  readonly outcome: JobOutcome;
  /** The process that carried it out; while the state is `running`, it still does or it died. */
  readonly pid?: number;
  /** Where and when that process was started: its number may belong to another one by now. Absent in old records. */
  readonly birth?: string;
  readonly red?: RedReason;
  /** Why it was rolled back, as in its journal; empty or absent where its status says all. */
  readonly reason?: string;
  /** The job that this one undid or redid by a merge. */
  readonly reverses?: string;
  /** The job that undid this one by a merge; while that one is applied, the state of this one is `undone`. */
  readonly reversedBy?: string;
  /** The job that redid this one by a merge, after it was undone; while that one is applied, this one is `committed`. */
  readonly broughtInBy?: string;
}

export interface StoredJob extends JobRecord {
  readonly state: JobState;
  readonly stateAt: string;
  /** Larger for a job whose state changed later, regardless of the clock; absent where only the time is known. */
  readonly moved?: number;
  /** Its number in the workspace, as people name it: `#12`. It keeps it when others are forgotten; absent where it was lost. */
  readonly number?: number;
  readonly bytes: number;
  /** The file of its record that cannot be read: the job cannot be undone, and the other members hold the facts that are still known. */
  readonly damaged?: string;
  /** The folder in which this user may not read that file, for example one of another user. The record may be intact. */
  readonly closed?: string;
  /** It is on its way into the workspace or out of it: a process is just at it, or died there and a repair is due. */
  readonly unsettled?: Unsettled;
  readonly interruptions?: readonly Interruption[];
  /** The last repair produced the job's current state. */
  readonly standsRepaired?: true;
}

export type JobProcess = Pick<JobRecord, "jobId" | "pid" | "birth">;

/** The text of a file before and after a job; null is absence, undefined is unknown by now. */
export interface FileDifference {
  readonly path: string;
  readonly before: Uint8Array | null | undefined;
  readonly after: Uint8Array | null | undefined;
  /** Of a preview: how the file was when it was made, where it changed since and that is still known. */
  readonly base?: Uint8Array;
  /** It is or was a symbolic link, which has no text. */
  readonly isLink?: true;
  /** Of a file on both sides whose mode changed, where that was asked for. */
  readonly modes?: readonly [before: number, after: number];
}

/** Where jobs are remembered: files beside the undo data, so that no database is needed to take a job back. */
export interface JobArchive {
  /** True the first time it is asked of a kind of transaction on this workspace. */
  isFirstOf(kind: string): boolean;
  append(jobId: string, event: JobEvent): void;
  save(record: JobRecord): void;
  read(jobId: string): StoredJob | null;
  /** Oldest first. Jobs in other states than the named ones cost a third, and known ones of other groups are not read. */
  list(states?: readonly JobState[], isOfGroup?: (groupId: string) => boolean): StoredJob[];
  /** The number of each job by its id, also of jobs that are forgotten. */
  numbers(): ReadonlyMap<string, number>;
  events(jobId: string): JournalLine[];
  differences(jobId: string): FileDifference[];
  /** The same by path, each read when asked for; a deleted folder has its files. `path`: only that file or folder. */
  walkDifferences(
    jobId: string,
    path?: string,
    asked?: {
      /** Changes of a mode, too; a file that changed in nothing else has no bytes on either side. */
      readonly modes?: boolean;
    },
  ): Iterable<FileDifference>;
}

/** A searchable index of all workspaces' jobs, rebuilt from the job folders: no undo depends on it. Several processes may use it. */
export interface JobIndex {
  /** Brings the index up to date with one workspace's folders. Idempotent. */
  sync(archive: JobArchive): Promise<{ added: number; updated: number }>;
  /** Newest first. */
  jobs(filter: JobFilter): Promise<IndexedJob[]>;
  status(): Promise<{ applied: string[]; pending: string[]; jobs: number }>;
  migrate(): Promise<string[]>;
  close(): Promise<void>;
}

export interface AllJobs extends JobIndex {
  syncAll(): Promise<void>;
}

interface JobFilter {
  readonly workspace?: string;
  readonly groupId?: string;
  readonly limit: number;
}

export type IndexedJob = Omit<StoredJob, "changes" | "notes"> & { readonly changeCount: number };

/** The git that PicoClaw runs for itself: nothing that a job left decides which program it is or what it runs. */
export interface OwnGit {
  /** Absolute, where no job can write. */
  readonly program: string;
  /** Folders for programs that it runs itself, such as filters of the user. */
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  /** The user's own configuration before the job: who commits, and how files are kept. */
  readonly settings: readonly (readonly [name: string, value: string])[];
  /** Names of the filters that the configuration had before the job. */
  readonly filters: readonly string[];
}
