import type { FileDifference } from "./jobs.ts";
import type { TakenEdit, WorkspaceFiles } from "./jobs-transaction.ts";

/** A job whose change is part of the workspace. */
export interface StackedJob {
  readonly jobId: string;
  readonly groupId: string;
  /** False where its originals are gone: evicted by the quota, damaged, or never kept. */
  readonly known: boolean;
  /** Files that it changed, relative to the workspace. */
  readonly paths: readonly string[];
}

/**
 * The jobs that are part of the workspace, oldest first, in the order of their swaps. It is a projection of the job
 * folders: a lost or damaged index is rebuilt from them.
 */
export interface JobStack {
  readonly jobs: readonly StackedJob[];
  /** The files before the job at this place; `jobs.length` is the present. Copies nothing. */
  openBefore(place: number): EarlierState;
  /** What one job did to one file; null where it did nothing to it. Both sides are undefined where they are gone. */
  difference(place: number, path: string): FileDifference | null;
  /** What one job did to all files. */
  differences(place: number): Iterable<FileDifference>;
  /** Places of jobs that removed a line with this text, newest first. */
  findRemoved(text: string): readonly number[];
  /** Removes the record of a draft that was discarded: a probe is no job of the user's. */
  forgetProbe(jobId: string): void;
}

/** The workspace as it was. */
export interface EarlierState {
  readonly files: WorkspaceFiles;
  /** Paths that jobs changed since. */
  readonly changed: readonly string[];
  /** Changes outside of jobs, seen where a job or the present found other bytes than the job before it had left. */
  readonly handEdits: readonly HandEdit[];
  /** Paths whose earlier content is gone with the originals of a job. */
  readonly unknown: readonly string[];
  /** Makes the present workspace this state: what a draft takes in. Throws `ViewFault` for content that is gone. */
  edits(): readonly TakenEdit[];
}

export interface HandEdit {
  readonly path: string;
  /** Between this job and the next one that touched the file; null is the present. */
  readonly after: string;
  readonly before: string | null;
}

/** The last commit that changed a line. */
export interface BlamedLine {
  readonly commit: string;
  readonly author: string;
  /** ISO. */
  readonly at: string;
  readonly subject: string;
}
