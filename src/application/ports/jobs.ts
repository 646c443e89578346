import type { Change } from "../../domain/jobs/result.ts";
import type { Interruption } from "../../domain/jobs/interruption.ts";
import type { RedReason, Unsettled } from "../../domain/jobs/job-status.ts";
import type { Note } from "../../domain/jobs/note.ts";
import type { JobEvent, JournalLine } from "./journal.ts";
import type { JobState } from "./jobs-transaction.ts";

/** What is remembered of a job, for `jobs` and `show`. Its state is the transaction's, read when asked. */
export interface JobRecord {
  readonly jobId: string;
  readonly groupId: string;
  readonly workspace: string;
  readonly source: string;
  /** First line of the request, else of the plan or of the patch. */
  readonly title: string;
  /** What was asked for, where somebody asked in words; masked and cut. */
  readonly request?: string;
  readonly createdAt: string;
  readonly finishedAt: string;
  readonly kind: string;
  readonly outcome: JobOutcome;
  /** The process that carried it out; while the state is `running`, it still does or it died. */
  readonly pid?: number;
  /** Where and when that process was born: its number may be somebody else's by now. Absent in old records. */
  readonly birth?: string;
  readonly success: boolean;
  readonly totalCmds: number;
  readonly executedCmds: number;
  readonly failedCmds: number;
  readonly gitCommit?: string;
  readonly changes: readonly Change[];
  readonly notes: readonly Note[];
  /** Why a draft was kept as a preview instead of landing. */
  readonly red?: RedReason;
}

/**
 * How the job ended, or was about to end when this was written: the record is written before the swap, so that
 * a job whose process died in between can still be taken back. What really holds is the state.
 */
export type JobOutcome = "running" | "committed" | "staged" | "conflict" | "rolled-back" | "aborted";

export interface StoredJob extends JobRecord {
  readonly state: JobState;
  /** When the state last changed. */
  readonly stateAt: string;
  readonly bytes: number;
  /** It is on its way into the workspace or out of it: a process is just at it, or died there and a repair is due. */
  readonly unsettled?: Unsettled;
  /** What was cut off of it, oldest first; absent where nothing was. */
  readonly interruptions?: readonly Interruption[];
  /** The last of them is how it came to stand as it does now. */
  readonly standsRepaired?: true;
}

/** What tells whether the process of a job still is at it. */
export type JobProcess = Pick<JobRecord, "jobId" | "pid" | "birth">;

/** The text of a file before and after a job; null is absence, undefined is unknown by now. */
export interface FileDifference {
  readonly path: string;
  readonly before: Uint8Array | null | undefined;
  readonly after: Uint8Array | null | undefined;
  /** Of a preview: how the file was when it was made, where it changed since and that is still known. */
  readonly base?: Uint8Array;
}

/** Where jobs are remembered: files beside the undo data, so that no database is needed to take a job back. */
export interface JobArchive {
  /** True the first time it is asked of a kind of transaction on this workspace. */
  isFirstOf(kind: string): boolean;
  append(jobId: string, event: JobEvent): void;
  save(record: JobRecord): void;
  read(jobId: string): StoredJob | null;
  /** Oldest first. */
  list(): StoredJob[];
  events(jobId: string): JournalLine[];
  differences(jobId: string): FileDifference[];
}
