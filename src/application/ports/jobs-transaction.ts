import type {
  BeginRefusal,
  Change,
  Conflict,
  EvictedJob,
  KeptAside,
  OpenInterruption,
  SealNote,
  TransactionKind,
  TransactionReason,
} from "../../domain/jobs/result.ts";
import type { ForeignRepository } from "../../domain/platform/git-index.ts";
import type { RefusedDestination } from "../../domain/policy/network.ts";
import type { ProcessRunner } from "./platform-processes.ts";
import type { EntryState, Repository, TakenEdit, View, WorkspaceFiles } from "./platform-view.ts";

/**
 * Stages a job's changes until commit or rollback: `seal` ends the view and leaves a change set on disk, which `commit`, `undo` and
 * `redo` swap under a lock, all paths or none. After a crash `repair` finishes the swap of the intent file. Needs no git or database.
 */
export interface Transactions {
  begin(request: BeginRequest): Promise<BeginResult>;
  /**
   * All or none; a conflict leaves a preview. Idempotent. `may` is asked under the lock, after a wait that others may have taken for
   * this process's death: if not, the job stays staged, "late".
   */
  commit(
    jobId: string,
    options?: { readonly may?: () => Promise<boolean> },
  ): Promise<SwapOutcome | { readonly status: "late" }>;
  /** Runs `use` while no other job can be applied; its `commit` and `discard` use the held lock. `busy`: the lock was not available. */
  hold<T>(use: (held: Pick<Transactions, "commit" | "discard">) => Promise<T>): Promise<T | "busy">;
  /** Waits for the turn to commit, in order among all processes; the result, or the end of the process, ends it. Only the lock excludes. */
  takeTurn(signal: AbortSignal): Promise<() => void>;
  undo(jobId: string, options: { force: boolean }): Promise<SwapOutcome>;
  redo(jobId: string, options: { force: boolean }): Promise<SwapOutcome>;
  stage(jobId: string): Promise<void>;
  /** Drops a staged job's change set; a job that was committed keeps its undo. One that never `began` gives back its number. */
  discard(jobId: string, options?: { readonly began?: boolean }): Promise<void>;
  /** Finishes an interrupted swap around entries edited since; null: none. `begin` and swaps do so first. `halted`: retries this job's. */
  repair(halted?: string): Promise<RepairedJob | null>;
  /** Rewrites unreadable records of jobs from the remaining files. Absent where there is nothing to rebuild them from. */
  repairRecords?(): Promise<readonly RepairedRecord[]>;
  findDamagedUndo?(options: DamageSearch): Promise<readonly DamagedUndo[]>;
  findInterruption?(): Promise<OpenInterruption | null>;
  /** Evicts the oldest undo records past the quota, and jobs without one after so many days (0: never). Returns the evicted. */
  enforceQuota(
    limits: { readonly quotaBytes: number; readonly journalDays: number },
    keep: string,
  ): Promise<readonly EvictedJob[]>;
}

/**
 * Who started a command; this decides which network the command has and which files it can read. `user`: the person's own command
 * (`!command`, `apply`, `tool` and `ps` by hand). `model`: a coder's patch or scratch run, a tool call, a client of the MCP server,
 * a sub-agent, and background processes that any of these start. `head`: an agent's own CLI. `check`: tests, linters and hooks.
 */
export type StartedBy = "user" | "model" | "head" | "check";

export interface Staging {
  readonly kind: Exclude<TransactionKind, "direct">;
  readonly reason: TransactionReason;
  readonly confinable: boolean;
}

export interface BeginRequest {
  readonly jobId: string;
  readonly kind: TransactionKind;
  readonly startedBy: StartedBy;
  /** Whether processes may reach the network, where the view can keep them from it. Default: yes. */
  readonly network?: boolean;
  /** For a job that stays open: nothing is started before `layers.wake`, and it has a home layer of its own. */
  readonly resting?: boolean;
  /** The job ends as a preview: it has a home layer of its own, which is removed with it. */
  readonly preview?: boolean;
  /** The job was begun as `direct` and continues in a view of another kind; its caller transfers its edits. */
  readonly again?: boolean;
}

export type BeginResult =
  | {
      readonly ok: true;
      readonly transaction: Transaction;
      /** Why it is not the kind that was asked for. */
      readonly insteadOf?: { readonly kind: TransactionKind; readonly reason: TransactionReason };
      /** An earlier swap had been cut off, and was finished first, or could not be. */
      readonly repaired?: RepairedJob;
    }
  | { readonly ok: false; readonly refusal: BeginRefusal };

export interface Transaction extends BeforeAndAfter {
  /** Its job is not undone by itself: the task that it belongs to is, as a whole, by git. */
  readonly undoneByTask?: boolean;
  readonly kind: TransactionKind;
  readonly view: View;
  /** The absolute folder where processes of the job run, or null when this kind runs none. */
  readonly directory: string | null;
  /** Runs processes inside the view, where this kind needs it; absent where any process runner will do. */
  readonly processes?: ProcessRunner;
  /** A repository above the workspace that the job does not reach. */
  readonly foreign?: ForeignRepository | null;
  /** Its processes are not confined, but limited: they write to the view, a private home and a private `TMPDIR` alone. */
  readonly isLimited?: boolean;
  readonly environment: Readonly<Record<string, string>>;
  /** The changes since the last call (or since begin). Cheap when only the view's own operations ran. */
  takeChanges(since: { processRan: boolean }): Change[];
  /** Restores paths as `takeChanges` names them, also beside the workspace (`../.git/config`), to what they were at begin. */
  revert(paths: readonly string[]): void;
  /** Gives a file among such paths other bytes, keeping its mode. Where the view cannot be written to, the seal will do it. */
  rewrite(path: string, bytes: Uint8Array): void;
  /** Called when a process reports an unknown owner or group: such a file, or null. The next job is staged differently. */
  readonly metForeign?: () => string | null;
  readonly network?: "off" | "allow-list";
  /** Connections that processes made through an allow-list, and those that it refused, since the last call. */
  readonly takeTraffic?: () => NetworkTraffic;
  /** Existing paths of the home (`~/.foo`) that a failed command's words name and no job is shown. Absent if the home is not hidden. */
  readonly hiddenHome?: (words: string) => readonly string[];
  /** The secret files that this job may not read. */
  readonly secretFiles?: () => readonly string[];
  /** The files of the workspace that a failed command's words name and this job may not read (`worker.env_files`). */
  readonly hiddenSecrets?: (words: string) => readonly string[];
  /** Asked after the end of the view: the jobs' shared home, where it was put aside because a job left it unusable. */
  readonly homeAside?: () => string | null;
  /** The parts that a job needs to stay open over several steps. Absent if it cannot. */
  readonly layers?: Layers;
  /**
   * Ends the view and everything that runs in it, has the judge validate the difference, and stages exactly what passed; resting or
   * reopened views too. Files left in the private home layer stay for later jobs unless the job ends as a preview.
   */
  seal(judge: ValidateDifference, end?: { readonly preview: boolean }): Promise<SealedChanges>;
  discard(): Promise<void>;
}

/** Decides which parts of a sealed difference may not land. Called once, when nothing can change it any more. */
export type ValidateDifference = (difference: Difference) => DifferenceVerdict;

/** The entries at begin and now, for paths as `takeChanges` names them. No symlink is followed. */
export interface BeforeAndAfter {
  look(path: string, when: "before" | "after"): EntryState | null;
  /** The bytes such a path had at begin; null when it was not a file, or is too large to be read. */
  original(path: string): Uint8Array | null;
  /** The bytes such a path has now; null when it is not a file, or is too large to be read. */
  current(path: string): Uint8Array | null;
  /** The workspace's repository, in such paths; null when it has none or no process can run. */
  readonly repository: Repository | null;
}

/** All changes of a job, after every process that ran in it has ended. */
export interface Difference extends BeforeAndAfter {
  /** One entry per path, git's object store included. A folder that was removed with its contents is one. */
  readonly changes: readonly Change[];
  /** The former entries below a folder that was removed or replaced. */
  below(path: string): Iterable<string>;
}

export interface DifferenceVerdict {
  /** Paths that stay as they were at begin, with all below; folders that were made for them alone go too. */
  readonly drop: readonly string[];
  readonly rewrite: ReadonlyMap<string, Uint8Array>;
}

/** A transaction on disk, with or without a running sandbox. In both states it can be sealed or discarded. */
export interface Layers {
  /** Ends the sandbox and its processes; changes stay. Idempotent. Rejects if it had ended before: its work may be half done. */
  rest(): Promise<void>;
  /** Opens the view over the current workspace; null, or why nothing ran. Idempotent. `head`: needs `headPort`, and the job must rest. */
  wake(head?: HeadSurroundings): Promise<BeginRefusal | null>;
  /** The port in an open view that leads to the socket of its head; null where it has none. */
  readonly headPort?: () => number | null;
  changes(): Change[];
  /** Files as the job has them, resting or awake. */
  readonly files: WorkspaceFiles;
  /** A view over the resting job, or over the workspace alone, whose changes are discarded. Absent where that cannot be. */
  readonly openCheck?: (request: CheckViewRequest) => Promise<OpenedCheck>;
  /** The files that commands left in the private home. Absent where views of checks cannot be kept from it. */
  readonly homes?: () => HomeTraces;
  /** Absent, like the next two, if a job cannot be rebased onto a changed workspace. */
  readonly moved?: () => readonly MovedPath[];
  /** Gives a file of the resting job bytes that include the workspace's `theirs`, its new base. False: the workspace has other bytes. */
  readonly adopt?: (path: string, theirs: Uint8Array, bytes: Uint8Array) => boolean;
  /** Drops the job's changes at these paths, which then show the workspace's content. The job must rest. */
  readonly forget?: (paths: readonly string[]) => void;
  /** Edits that are staged without any process, for another view; they are forgotten here. */
  readonly takeEdits?: () => TakenEdits;
}

/** The parts that the sandbox of a head has beyond that of commands. All paths are absolute and real. */
export interface HeadSurroundings {
  /** A home layer above the job's, kept when the draft ends: no check or other job sees it, and no commit merges it. */
  readonly home: string;
  /** Files that its home has at every start, by their paths there, replacing what it made of them before. */
  readonly files: ReadonlyMap<string, string>;
  /** Folders of its program, shown read-only. */
  readonly readable: readonly string[];
  /** A socket of this machine that a port of its loopback leads to; null: none. */
  readonly socket: string | null;
}

/** A path that the job changed, and at which the workspace has something else by now than the job found. */
export interface MovedPath {
  readonly path: string;
  /** The content that the job found: null is nothing, undefined is unknown now, too large, or not a file. */
  readonly base: Uint8Array | null | undefined;
}

export interface HomeTraces {
  /** Whether earlier jobs, undone ones among them, left any. */
  readonly earlier: boolean;
  /** Those of the job itself, relative to the home; a few hundred at most. */
  readonly own: readonly string[];
  /** Programs and settings, in the home or beside the project's files, that differ from before the job; as people read them. */
  readonly programs?: readonly string[];
}

export interface CheckViewRequest {
  readonly startedBy: StartedBy;
  readonly over: "draft" | "baseline";
  /** `bare`: the home shows nothing that a command of any job left in it. */
  readonly home: "bare" | "whole";
  readonly network: boolean;
  /** Whether the output that `keepBuilt` kept is visible. */
  readonly built: boolean;
  /** Views of the same name in a row show the writes again, where layers allow it. */
  readonly scratch?: string;
}

export type OpenedCheck =
  | { readonly ok: true; readonly check: CheckView }
  | { readonly ok: false; readonly message: string };

export interface CheckView {
  readonly view: View;
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Absent where any process runner will do. */
  readonly processes?: ProcessRunner;
  /** Whether processes here are kept from the rest of the machine. */
  readonly confined: boolean;
  /** Masks the values of files that its commands read and a model's may not. Absent where there are none. */
  readonly maskFiles?: (text: string) => string;
  /** Whether `keepBuilt` kept something that shows here. */
  readonly hasBuilt: boolean;
  /** The paths at which its commands may have changed anything; a folder stands for all below it. Absent where that is unknown. */
  readonly touched?: () => readonly string[];
  /** Files of the workspace that its commands do not see, although nothing removed them. */
  readonly hiddenFiles?: readonly string[];
  /** Keeps what was written below these paths of the workspace for later checks. Called when nothing runs, before `close`. */
  readonly keepBuilt?: (paths: readonly string[]) => Promise<void>;
  /** Ends its processes and discards its changes. Idempotent. */
  close(): Promise<void>;
}

export type TakenEdits =
  | { readonly ok: true; readonly edits: readonly TakenEdit[] }
  /** This path of the workspace was changed from outside since it was edited here. */
  | { readonly ok: false; readonly path: string };

export interface RefusedHost {
  readonly host: string;
  /** Of the last refused request. */
  readonly port?: number;
  readonly reason: RefusedDestination;
  readonly count: number;
}

/** A host to which commands had connections. */
export interface ReachedHost {
  readonly host: string;
  readonly count: number;
}

/** What a proxy saw since it was asked last. */
export interface NetworkTraffic {
  readonly refused: readonly RefusedHost[];
  readonly reached: readonly ReachedHost[];
}

export interface SealedChanges {
  readonly changes: readonly Change[];
  /** Paths of the workspace that changed while the job ran, though not through its view. */
  readonly outside: readonly string[];
  /** Entries that the view could not show or cover, one for each kind. */
  readonly notes: readonly SealNote[];
  /** Touched paths whose names are not UTF-8 and so cannot be recorded: nothing is staged, since the rest would not be the job's change. */
  readonly noText?: readonly string[];
  /** A file of another owner or group that the view could not change. Nothing is staged then either. */
  readonly foreignOwner?: string;
  /** Folders of the job that hold names too long for the system to open. Nothing is staged either. */
  readonly tooDeep?: readonly string[];
  /** Where the job moved files to that its view only stands for: another mount, or a folder that may not be read. Nothing is staged either. */
  readonly unseen?: readonly string[];
  /** Commands of the job that could not be ended, and could continue to write to committed files. Nothing is staged either. */
  readonly outlived?: readonly string[];
}

export type SwapOutcome =
  | {
      readonly status: "done";
      readonly changes: readonly Change[];
      readonly left: readonly UntouchedPath[];
      readonly rebuilt?: string;
      /** A commit of a job that was committed before: nothing was changed. */
      readonly already?: true;
    }
  | { readonly status: "conflict"; readonly conflicts: readonly Conflict[] }
  | {
      readonly status: "refused";
      /** `workspace-gone`: the folder was removed or moved since the job began; nothing was written anywhere. */
      readonly reason: "unknown-job" | "wrong-state" | "evicted" | "busy" | UnusableJob;
      /** `damaged`, `closed`, `newer`: the file of the job's record that cannot be read; `data-gone`: the paths without undo data. */
      readonly paths?: readonly string[];
      /** The process that keeps the workspace busy, by name and number, where that can be seen. */
      readonly heldBy?: string;
      readonly state?: JobState;
    };

/** A path that a swap did not touch: a ref or index that moved on, a folder that is not empty, a path whose record is lost. */
export interface UntouchedPath {
  readonly path: string;
  readonly reason: "moved-on" | "not-empty" | "object" | "lost";
}

export interface RepairedRecord {
  readonly jobId: string;
  readonly file: string;
  readonly repaired: boolean;
  /** Of undo data that was rebuilt: the paths that are lost to undo and redo. */
  readonly lost?: readonly string[];
}

/** Why what a job keeps cannot be used. `newer`: a later version of PicoClaw wrote it; `closed`: this user may not read it. */
export type UnusableJob = "damaged" | "closed" | "newer" | "data-gone" | "workspace-gone";

/** A job with a file of its undo data that is damaged or gone. */
export interface DamagedUndo {
  readonly jobId: string;
  readonly file: string;
  /** The paths that a rebuilt record would leave out; null where nothing can be rebuilt. */
  readonly lost: readonly string[] | "closed" | "newer" | null;
}

export interface DamageSearch {
  /** Every line is read; else the beginning and the end of each file, which finds truncated and empty files. */
  readonly whole: boolean;
  /** Default: all jobs. */
  readonly jobIds?: ReadonlySet<string>;
}

export interface RepairedJob {
  readonly jobId: string;
  readonly direction: "commit" | "undo" | "redo";
  /** `taken-back`: the swap had failed, and everything is as it was before it. */
  readonly outcome: "finished" | "taken-back" | "stuck";
  readonly conflicts: readonly Conflict[];
  /** Paths that it had not reached and that were edited since: it left them as they are. */
  readonly left: readonly string[];
  readonly aside?: KeptAside;
}

export type JobState = "running" | "staged" | "committed" | "undone" | "discarded" | "evicted";

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
