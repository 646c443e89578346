import type {
  Change,
  CommandResult,
  JobRefusal,
  RanJob,
  RedReason,
  RefusedJob,
} from "../../domain/jobs/result.ts";
import type { ParseResult, PatchCommand } from "../../domain/patch/patch-command.ts";
import type { MergeConflict } from "../../domain/platform/merge.ts";
import type { FileDifference, JobEvent } from "./jobs.ts";
import type { HeadProcess } from "./jobs-head.ts";
import type { HomeTraces, StartedBy } from "./jobs-transaction.ts";
import type { ProcessResult } from "./platform-processes.ts";
import type { TakenEdit, WorkspaceFiles } from "./platform-view.ts";

/** A caller's request to a workspace for a draft. The workspace's settings fill in missing values. */
export interface DraftRequest {
  readonly source: string;
  readonly startedBy: StartedBy;
  /** The user's request; its first line titles the job. */
  readonly request?: string;
  readonly groupId?: string;
  /** `<channel>:<chat>`; for the log. */
  readonly sessionKey?: string;
  /** Whether checks will judge it: it is then staged from the start. Without checks, a draft of edits costs no more than a job of edits. */
  readonly checked: boolean;
  /** Whether commands of its patches may reach the network. Default: yes, as for a job that is applied. */
  readonly network?: boolean;
  readonly stopOnError?: boolean;
  readonly autoCommit?: boolean;
  /** Instead of `worker.command_timeout`. */
  readonly commandTimeoutSeconds?: number;
  /** Ends every process in the draft, which then applies nothing; its owner must still end it. */
  readonly signal: AbortSignal;
  readonly onStart?: (jobId: string) => void;
  readonly onEvent?: (event: JobEvent) => void;
  readonly onOutput?: (text: string) => void;
}

export type OpenedDraft =
  | { readonly ok: true; readonly draft: Draft }
  | { readonly ok: false; readonly refusal: JobRefusal };

/**
 * A job that stays open while a coder works, and ends as one commit, a preview or nothing. Between two calls it is layers on disk:
 * nothing runs or is mounted, and the workspace is untouched until `commit`. Several may be open at once. Calls of one take turns,
 * except checks of the baseline; after its end, all but `discard` throw. A draft whose process dies is closed like a dead job.
 */
export interface Draft {
  readonly id: string;
  /** Files as the draft has them. They are the workspace's where it changed nothing. */
  readonly files: WorkspaceFiles;
  /** Carries out a patch or commands. Results before a failing command stay; every process it started has ended when this returns. */
  run(attempt: DraftAttempt): Promise<DraftRun>;
  /**
   * Gives files the contents that they have in another draft of the workspace, which had the same rules; the job lists each as an
   * edit. On a refusal nothing was written. Without an attempt, the edits count as part of earlier ones and are not listed.
   */
  takeIn(edits: readonly TakenEdit[], attempt: number | null): Promise<JobRefusal | null>;
  /** Counts commands of the last attempt that a check has run: its job lists them after those that the draft ran. */
  addResults(results: readonly CommandResult[], attempt: number): Promise<void>;
  journal(event: JobEvent): void;
  /**
   * Runs check commands in turn over the draft, or over the workspace without it; their writes are thrown away. They are confined and
   * without network; where nothing can confine them, they are refused in a folder that is not trusted.
   */
  check(request: CheckRequest): Promise<Checked>;
  /** The changes that the checks of this name left in their view, which stays as it is. Absent, or refused, where there is no such view. */
  readonly readScratch?: (scratch: string) => Promise<ScratchChange>;
  /** The files that commands left in the private home. Absent, or null, where checks cannot be kept from it. */
  readonly homes?: () => HomeTraces | null;
  changes(): readonly Change[];
  /** The changed files whose contents differ, before and after. */
  diff(): readonly FileDifference[];
  /** Waits for the draft's turn to land, among all processes in the order of requests; the result gives the turn back. */
  takeTurn(): Promise<() => void>;
  /** Merges others' changes into the draft and runs its commands again for their files; a file in conflict stays the draft's. */
  rebase(): Promise<Rebased>;
  /** Notes in the job how others' changes to its files were merged. */
  noteMerged(merged: readonly MergedNote[]): void;
  /** Whether others changed files of the draft since its last rebase. */
  hasMoved(): boolean;
  /** Drops the draft's changes to these files: they show the workspace's content. */
  giveWay(paths: readonly string[]): Promise<void>;
  /** Lands the draft as one job. A conflict keeps it as a preview. */
  commit(): Promise<RanJob>;
  /** The same if `still` confirms it while no other job can land; `moved` leaves the draft open and unchanged. */
  commitIf(still: () => Promise<boolean>): Promise<RanJob | "moved">;
  /** Keeps it as a preview, which `commitPreview` applies; `red`: why it did not land. */
  keep(red?: RedReason): Promise<RanJob>;
  /** Discards the draft; its journal stays. Idempotent, and harmless after its end. */
  discard(reason: string): Promise<void>;
}

/** The difference between a scratch view and its draft. */
export type ScratchChange =
  | { readonly ok: true; readonly edits: readonly TakenEdit[]; readonly left: readonly LeftOutPath[] }
  | { readonly ok: false; readonly message: string };

/** A path of a scratch view that is no part of the difference. `isOwn`: the project has it without the view, too. */
export interface LeftOutPath {
  readonly path: string;
  readonly why: "protected" | "ignored" | "tools";
  readonly isOwn?: boolean;
}

/** A file into which a change of others was merged. `by`: their job; null if it was made outside of PicoClaw. */
export interface MergedNote {
  readonly path: string;
  readonly by: string | null;
  /** The coder saw that change and replaced it. */
  readonly lost?: true;
}

export interface Rebased {
  readonly merged: readonly MergedNote[];
  readonly conflicts: readonly DraftConflict[];
  /** Commands that failed when they ran again to write their files. */
  readonly failed: readonly CommandResult[];
}

export interface DraftConflict {
  readonly path: string;
  readonly why: MergeConflict | "lock-file";
  /** Before both; undefined where it is not known. */
  readonly base: Uint8Array | null | undefined;
  readonly ours: Uint8Array | null;
  readonly theirs: Uint8Array | null;
}

export interface DraftAttempt {
  /** Counts from 1; journal events carry it. */
  readonly attempt: number;
  readonly work: /** `commands`: those of the patch that the draft runs; without it, all. */
    | { readonly patch: string; readonly parsed?: ParseResult; readonly commands?: readonly PatchCommand[] }
    | { readonly commands: readonly PatchCommand[] }
    /** Refused where nothing confines it. It never runs a second time by itself. */
    | { readonly head: HeadProcess };
  /** The coder's plan; without a request, the first line of the latest one titles the job. */
  readonly plan?: string;
  readonly merged?: readonly MergedNote[];
  /** The bytes of files that the attempt was written for, if the workspace may have others when it runs; null: no file. */
  readonly bases?: ReadonlyMap<string, Uint8Array | null>;
  /** Its commands reach outward, and never run a second time. */
  readonly once?: boolean;
  /** What earlier attempts of the draft made is no failure if it is sent again. */
  readonly maySendAgain?: true;
  /** Ends this attempt alone. */
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: JobEvent) => void;
  readonly onOutput?: (text: string) => void;
}

export type DraftRun =
  | RefusedJob
  | {
      readonly about: "attempt";
      readonly results: readonly CommandResult[];
      /** Fewer results than this where it stopped early. */
      readonly totalCmds: number;
      readonly warnings: readonly string[];
      readonly changes: readonly Change[];
      /** Background processes that ended with the attempt. */
      readonly ended: readonly string[];
      readonly aborted: boolean;
    };

export interface CheckRequest {
  /** Default: `check`. A model's scratch run is its own. */
  readonly startedBy?: StartedBy;
  readonly commands: readonly string[];
  /** `baseline`: the current workspace, without the draft. */
  readonly over: "draft" | "baseline";
  /** For the journal; 0 for the baseline. */
  readonly attempt?: number;
  /** Paths that show the workspace's content instead of the draft's: tests in their old version. */
  readonly asBefore?: readonly string[];
  /** Variables beside those that every check has. */
  readonly env?: Readonly<Record<string, string>>;
  /** `bare`: without anything that a command of any job left in the private home, where that can be. Default: `whole`. */
  readonly home?: "bare" | "whole";
  /** Texts that replace files in this check only, such as a file that is broken on purpose. */
  readonly replaced?: ReadonlyMap<string, string>;
  /** Without the baseline's build output in ignored folders. */
  readonly withoutBuildLayer?: boolean;
  /** Checks of the same name in a row see one another's writes; without a name, writes are removed. */
  readonly scratch?: string;
  readonly network?: boolean;
  /** A repetition, which must not be answered from memory. */
  readonly again?: boolean;
  /** Files that are returned as the commands left them. */
  readonly read?: readonly string[];
  /** For each command. */
  readonly timeoutSeconds: number;
  /** The limit holds as it is, however long other lines usually take. */
  readonly isExact?: boolean;
  /** Ends the checks at the first that fails. */
  readonly stopOnError?: boolean;
  readonly signal?: AbortSignal;
  /** Ends the command that runs as its time limit does. */
  readonly enough?: AbortSignal;
  readonly onOutput?: (text: string) => void;
}

export type Checked =
  | {
      readonly ok: true;
      readonly runs: readonly CheckRun[];
      /** Those of `read` that are files. */
      readonly files?: ReadonlyMap<string, Uint8Array>;
    }
  | { readonly ok: false; readonly why: NotChecked; readonly message: string };

/** `untrusted`: nothing confines here, and the folder is not trusted. `unavailable`: no throw-away view can be made. */
type NotChecked = "untrusted" | "unavailable" | "aborted";

/** How one check command ended. Its texts are masked, command lines of `running` are not. */
export interface CheckRun
  extends Pick<ProcessResult, "outcome" | "exitCode" | "output" | "durationMs" | "running"> {
  readonly command: string;
  readonly directory?: string;
  /** Both streams in the order in which they were written, for parsers of test results; past 16 MiB its middle is missing too. */
  readonly whole: string;
  /** The files that the baseline's checks built were visible. */
  readonly overBuilt?: boolean;
  /** The line of the check of which only the affected tests ran. */
  readonly partOf?: string;
}
