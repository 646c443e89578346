import type { StoredJob } from "./jobs.ts";
import type { JournalLine } from "./journal.ts";

/** What every machine is told of a job of one: small enough to be written four times a second. */
export interface JobSummary {
  /** With the first of its changes only, where there are many. */
  readonly job: StoredJob;
  /** How many changes there are, where the job is told with the first of them only. */
  readonly changeCount?: number;
  readonly alive: boolean;
  /** The last of them, where there are many. */
  readonly events: readonly JournalLine[];
  /** The end of what it printed, while it runs; absent where another process knows. */
  readonly tail?: string;
}

export interface FleetJob extends Omit<JobSummary, "tail"> {
  readonly tail: string;
  /** As the store names it. */
  readonly workspace: string;
  readonly root: string;
  readonly machine: JobMachine;
  /** Changes with every change of the summary. */
  readonly version: string;
}

/** A job that runs, with the end of what it printed. */
export interface TailedJob extends Pick<FleetJob, "events" | "tail"> {
  readonly jobId: string;
  readonly messageId: string;
}

/** Where a job was carried out. */
export interface JobMachine {
  readonly id: string;
  readonly name: string;
  /** Whether a process that serves the job's workspace was heard of lately. */
  readonly here: boolean;
}

/** Jobs of all workspaces of a shared store, as their machines last told of them. */
export interface FleetJobs {
  /** Of this process's workspace. */
  write(summary: JobSummary): Promise<void>;
  /** When the state of each job of this workspace changed, as it was told last. */
  told(): Promise<ReadonlyMap<string, string>>;
  forget(jobIds: readonly string[]): Promise<void>;
  /** Forgets jobs of machines that were not heard of for so long. */
  prune(keepMs: number): Promise<void>;
  read(jobId: string): Promise<FleetJob | null>;
  /** Of the other workspaces, oldest first, without events and tail: the newest `limit`, of all people or of these. */
  others(filter: {
    readonly limit: number;
    readonly of?: readonly { readonly channel: string; readonly userId: string }[];
  }): Promise<readonly FleetJob[]>;
  /** Jobs of one message, oldest first. */
  ofGroup(groupId: string, workspace: string): Promise<readonly FleetJob[]>;
  /** Jobs of this workspace that run for these messages, oldest first. */
  atWork(messageIds: readonly string[]): Promise<readonly TailedJob[]>;
  /** Changes whenever a job of another workspace does. */
  latest(): Promise<string>;
  /** Changes whenever what is told of the job does. */
  version(jobId: string): Promise<string>;
  /** This machine, and whether there are others. */
  home(): Promise<{ readonly machine: JobMachine; readonly alone: boolean }>;
}
