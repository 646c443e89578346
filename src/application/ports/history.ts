import type { NotACase } from "../../domain/history/case.ts";
import type { FileDifference } from "./jobs.ts";
import type { TakenEdit, WorkspaceFiles } from "./platform-view.ts";

export interface StackedJob {
  readonly jobId: string;
  readonly groupId: string;
  /** False where its originals are gone: evicted by the quota, damaged, or never kept. */
  readonly known: boolean;
  /** Files that it changed, relative to the workspace. */
  readonly paths: readonly string[];
  /** Of its last swap, in milliseconds. */
  readonly at: number;
}

/** Oldest first, in the order of their swaps: a projection of the job folders, whose lost index is rebuilt from them. */
export interface JobStack {
  readonly jobs: readonly StackedJob[];
  /** The files before the job at this place; `jobs.length` is the present. Copies nothing. */
  openBefore(place: number): EarlierState;
  /** Null if there is none. Both sides are undefined if they are no longer kept. */
  difference(place: number, path: string): FileDifference | null;
  differences(place: number): Iterable<FileDifference>;
  /** Places of jobs that removed a line with this text, newest first. */
  findRemoved(text: string): readonly number[];
  /** Removes the record of a draft that was discarded: a probe is not a job of the user. */
  forgetProbe(jobId: string): void;
}

export interface EarlierState {
  readonly files: WorkspaceFiles;
  /** Paths that jobs changed since. */
  readonly changed: readonly string[];
  /** Changes outside of jobs, seen where a job or the present found other bytes than the job before it had left. */
  readonly handEdits: readonly HandEdit[];
  /** Paths whose earlier content is gone with the originals of a job. */
  readonly unknown: readonly string[];
  /** The edits that turn the present workspace into this state. Throws `ViewFault` for content that is lost. */
  edits(): readonly TakenEdit[];
}

export interface HandEdit {
  readonly path: string;
  /** Between this job and the next one that touched the file; null is the present. */
  readonly after: string;
  readonly before: string | null;
  /** When the file that was found was last changed, in milliseconds; null for one that was removed. */
  readonly at: number | null;
  /** The mode with which that job left the file; null where it left none. */
  readonly mode: number | null;
}

export interface BlamedLine {
  readonly commit: string;
  readonly author: string;
  readonly at: string;
  readonly subject: string;
}

export interface CommitRecord {
  readonly commit: string;
  readonly parent: string;
  readonly at: string;
  readonly message: string;
  readonly changes: readonly ContentChange[];
}

/** A changed file with the names of its contents, by which `CommitLog.read` finds them; null: no regular file. */
export interface ContentChange {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** The repository of a workspace, read without its settings, hooks and filters. */
export interface CommitLog {
  /** Newest first; merges and the first commit are left out. Empty where the workspace is not the top of a repository. */
  list(limit: number): Promise<readonly CommitRecord[]>;
  /** Texts by the name of their content, or by `commit:path`; null: no such file, or not a text. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, string | null>>;
  /** By commit, those of the words that occur in its files. Reads each content once, however many commits have it. */
  findWords(
    commits: readonly string[],
    words: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** The last commit of the main line at that time which does not have these files yet, by path and text; null: none. */
  findBase(at: string, without: ReadonlyMap<string, string>): Promise<string | null>;
}

export interface EarlierTurn {
  /** Empty for the user. */
  readonly agent: string;
  readonly text: string;
}

/** Title and text of an issue of the project's forge; empty where there is no such issue, null where the forge cannot be asked. */
export type ReadIssue = (number: number) => Promise<string | null>;

/** The state of a case: a commit of the workspace's own repository, or of one that keeps states of jobs. */
export interface CaseState {
  readonly repository: string;
  readonly commit: string;
}

export interface CompareStore {
  readCases(): CaseMemory;
  keepCases(memory: CaseMemory): void;
  /** Keeps a state of jobs as a commit over this base, so that no quota takes it. Idempotent. */
  keepState(name: string, base: string | null, files: readonly TakenEdit[]): Promise<CaseState>;
  /** Appends to a comparison; a line that a crash cut short is skipped when it is read. */
  addPlay(run: string, play: PlayRecord): void;
  /** Those that were played to their end. */
  readPlays(run: string): readonly PlayRecord[];
  /** Also of those that were not played to their end. */
  spentUsd(run: string): number;
  /** Those with plays, the one that was played last first. */
  listRuns(): readonly string[];
  /** Runs `use` while no other process plays the same comparison. */
  hold<T>(run: string, use: () => Promise<T>): Promise<T | "busy">;
}

export interface CaseMemory {
  readonly added: readonly string[];
  readonly dropped: readonly string[];
  /** Requests that a person rewrote. */
  readonly requests: Readonly<Record<string, string>>;
  /** Texts of linked issues, by number; empty where there is none. */
  readonly issues: Readonly<Record<string, string>>;
  /** Stored results, by the case's id and the content of its judge. */
  readonly seen: Readonly<Record<string, SeenCase>>;
}

export type SeenCase =
  | { readonly key: string; readonly ok: true; readonly line: string; readonly seconds: number }
  | { readonly key: string; readonly ok: false; readonly why: NotACase };

export interface PlayRecord extends PlayResult {
  readonly contestant: string;
  readonly case: string;
  readonly repeat: number;
  readonly at: string;
  readonly solved: boolean;
}

export interface PlayResult {
  /** It ended as finished, by its own account. */
  readonly done: boolean;
  /** The project's checks passed over its work before it ended. */
  readonly checked: boolean;
  readonly requests: number;
  readonly tokens: number;
  /** Null: the price is unknown. */
  readonly usd: number | null;
  readonly seconds: number;
  /** Its change; empty where it made none. */
  readonly diff: string;
  readonly failure: PlayFailure | null;
}

export type PlayFailure =
  /** No key, a provider's limit, an error, in the words of the reply. */
  | { readonly code: "unanswered"; readonly text: string }
  /** The server failed in the middle of the work, by its status or the failure's code. */
  | { readonly code: "cut-off"; readonly failure: string }
  | { readonly code: "no-room"; readonly why: NotACase }
  | { readonly code: "no-judge" }
  /** It was stopped at its share of the budget. */
  | { readonly code: "budget" };
