import type {
  KeptAside,
  OpenInterruption,
  SealNote,
  TransactionKind,
  TransactionReason,
} from "../../domain/jobs/note.ts";
import type { BeginRefusal, Change, Conflict, EvictedJob } from "../../domain/jobs/result.ts";
import type { RefusedDestination } from "../../domain/policy/network.ts";

/**
 * The view: the files that a job sees and changes until commit. Paths are relative to the view's root, `/`-separated,
 * never empty components, never `..`. No operation follows a symlink in any component: a path whose parent is
 * a symlink or a file does not exist here. Following links (inside the root only) is `edit-policy.ts`.
 *
 * Operations throw `ViewFault` for failures that a user or a model can act on; anything else is a bug.
 */
export interface View {
  look(path: string): Entry;
  read(path: string): Uint8Array;
  /** Replaces or creates a file, making parents. Keeps the mode of an existing file unless `mode` is given. */
  write(path: string, bytes: Uint8Array, mode?: number): void;
  makeSymlink(path: string, target: string): void;
  /** Makes the folder and its parents; an existing folder is fine. */
  makeDirectory(path: string): void;
  /** Removes a file, a symlink or an empty folder. */
  remove(path: string): void;
  /** Moves a file, a symlink or a whole folder. The destination must not exist (files: is replaced). */
  rename(from: string, to: string): void;
  /** Copies one file with its mode, or a symlink as such. */
  copy(from: string, to: string): void;
  list(path: string): string[];
  /** Makes all of these edits or none, as `takeInEdits` does, where one call is cheaper than one for each path. */
  readonly takeIn?: (edits: readonly TakenEdit[]) => void;
}

export type Entry =
  | { readonly kind: "missing" }
  | { readonly kind: "file"; readonly mode: number; readonly size: number }
  | { readonly kind: "directory"; readonly mode: number }
  | { readonly kind: "symlink"; readonly target: string }
  | { readonly kind: "other" };

export type ViewFaultCode =
  | "missing"
  | "is-directory"
  | "not-directory"
  | "not-empty"
  | "exists"
  | "not-a-file"
  | "no-space"
  | "read-only"
  | "permission"
  | "name-too-long"
  | "loop"
  | "outside"
  | "io";

export class ViewFault extends Error {
  constructor(
    readonly code: ViewFaultCode,
    readonly path: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = "ViewFault";
  }
}

const CODES: Record<string, ViewFaultCode> = {
  ENOENT: "missing",
  EISDIR: "is-directory",
  ENOTDIR: "not-directory",
  ENOTEMPTY: "not-empty",
  EEXIST: "exists",
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EROFS: "read-only",
  EACCES: "permission",
  EPERM: "permission",
  ENAMETOOLONG: "name-too-long",
  ELOOP: "not-directory",
};

/** Turns a system error into a fault that names the path the user knows. */
export function toViewFault(error: unknown, path: string): ViewFault {
  if (error instanceof ViewFault) return error;
  const code = (error as { code?: string }).code ?? "";
  return new ViewFault(CODES[code] ?? "io", path, describe(CODES[code], path, error), { cause: error });
}

function describe(code: ViewFaultCode | undefined, path: string, error: unknown): string {
  switch (code) {
    case "missing":
      return `no such file or directory: ${path}`;
    case "is-directory":
      return `is a directory: ${path}`;
    case "not-directory":
      return `a parent is not a directory: ${path}`;
    case "not-empty":
      return `directory not empty: ${path}`;
    case "exists":
      return `already exists: ${path}`;
    case "no-space":
      return `no space left on device: ${path}`;
    case "read-only":
      return `read-only file system: ${path}`;
    case "permission":
      return `permission denied: ${path}`;
    case "name-too-long":
      return `file name too long: ${path.slice(0, 80)}…`;
    default:
      return `${path}: ${(error as Error).message}`;
  }
}

/** No symlink is followed in any component. Throws `ViewFault`. */
export interface WorkspaceFiles extends Pick<View, "look" | "list" | "read"> {
  /** Up to `length` bytes from `offset` on; fewer only at the end of the file. */
  readPart(path: string, offset: number, length: number): Uint8Array;
  /** When a file was last written or replaced, in milliseconds; null if there is none. Absent where that is unknown. */
  readonly changedAt?: (path: string) => number | null;
}

/** The environment variable that every process of a job carries. */
export const JOB_VARIABLE = "PICOCLAW_JOB";

export type OutputStream = "stdout" | "stderr";

export interface ProcessRequest {
  /** The program and its arguments. A program without a slash is looked up in `env.PATH`. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment; nothing is inherited. `PICOCLAW_JOB` is added. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Called once it has started, with what it reads on standard input. Absent: that is empty (`/dev/null`), and a program
   * that reads it ends instead of hanging.
   */
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

/**
 * `exited` has an `exitCode`, `signaled` a `signal`; `timed-out` and `aborted` have whichever the leader
 * ended with, if it did. `not-started` has an `error`.
 */
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
   * Runs one program in a session of its own and ends with its leader's exit: a child left in the
   * background does not hold the result. A timeout or an abort ends the whole tree, detached and
   * double-forked children included; `running` then has the command lines of what ran at that time. Never rejects.
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

/**
 * The transaction: stages a job's changes until commit or rollback.
 *
 * `begin` opens a view; commands run in it; `seal` ends the view and leaves a staged change set on disk that
 * `commit` swaps in, under a lock, path by path, or not at all. `undo` and `redo` are the same swap. After a
 * crash, `repair` finishes the swap that an intent file names. Nothing here needs git or a database.
 */
export interface Transactions {
  begin(request: BeginRequest): Promise<BeginResult>;
  /**
   * All paths or none. A conflict leaves the job staged, as a preview. Idempotent for a committed job. `may` is asked
   * once the lock is held: waiting for it may have taken longer than this process was heard of. If not, it stays staged, "late".
   */
  commit(
    jobId: string,
    options?: { readonly may?: () => Promise<boolean> },
  ): Promise<SwapOutcome | { readonly status: "late" }>;
  /**
   * Runs `use` while no other job can be brought in; `commit` and `discard` of the holder do not wait for the lock that it
   * has. `busy` where the lock could not be had.
   */
  hold<T>(use: (held: Pick<Transactions, "commit" | "discard">) => Promise<T>): Promise<T | "busy">;
  /**
   * Waits for the caller's turn to commit, among all processes in the order in which they asked; the result
   * gives the turn back. A process that dies gives it back, too. It prevents no process from writing: the
   * lock does that.
   */
  takeTurn(signal: AbortSignal): Promise<() => void>;
  undo(jobId: string, options: { force: boolean }): Promise<SwapOutcome>;
  redo(jobId: string, options: { force: boolean }): Promise<SwapOutcome>;
  /** Keeps a sealed job as a preview. */
  stage(jobId: string): Promise<void>;
  /** Drops a staged job's change set; a job that was committed keeps its undo. One that never `began` gives back its number. */
  discard(jobId: string, options?: { readonly began?: boolean }): Promise<void>;
  /**
   * Finishes an interrupted swap; null when nothing was interrupted. Entries edited since stay unchanged, and
   * the rest is finished around them. `begin`, `commit`, `undo` and `redo` do so first. `halted`:
   * of this job, which could not be completed before.
   */
  repair(halted?: string): Promise<RepairedJob | null>;
  /** Rewrites unreadable records of jobs from the remaining files. Absent where there is nothing to rebuild them from. */
  repairRecords?(): Promise<readonly RepairedRecord[]>;
  findDamagedUndo?(options: DamageSearch): Promise<readonly DamagedUndo[]>;
  /** See `Workspace.findInterruption`. */
  findInterruption?(): Promise<OpenInterruption | null>;
  /**
   * Evicts the oldest undo records past the quota, and removes jobs without one after so many days (0: never); returns
   * the undo records that went.
   */
  enforceQuota(
    limits: { readonly quotaBytes: number; readonly journalDays: number },
    keep: string,
  ): Promise<readonly EvictedJob[]>;
}

/** How jobs with processes are staged on this machine, and why. */
export interface Staging {
  readonly kind: Exclude<TransactionKind, "direct">;
  readonly reason: TransactionReason;
  /** Whether processes can be kept from the rest of the machine. */
  readonly confinable: boolean;
}

export interface BeginRequest {
  readonly jobId: string;
  readonly kind: TransactionKind;
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
  /** Its processes are not confined, but limited: they write to the view, a private home and a private `TMPDIR` alone. */
  readonly isLimited?: boolean;
  /** Further environment a process in the view needs. */
  readonly environment: Readonly<Record<string, string>>;
  /** The changes since the last call (or since begin). Cheap when only the view's own operations ran. */
  takeChanges(since: { processRan: boolean }): Change[];
  /**
   * For paths as `takeChanges` names them, which may lie beside the workspace (`../.git/config`) where the
   * repository does: puts them back to what they were at begin.
   */
  revert(paths: readonly string[]): void;
  /** Gives a file among such paths other bytes, keeping its mode. Where the view cannot be written to, the seal will do it. */
  rewrite(path: string, bytes: Uint8Array): void;
  /**
   * To be called when a process reports that a file's owner or group does not exist in the view: such a file,
   * or null if there is none. The next job is staged differently. Absent where that could not be.
   */
  readonly metForeign?: () => string | null;
  /** The network limit of processes; absent if there is none. */
  readonly network?: "off" | "allow-list";
  /** Requests of processes that an allow-list refused since the last call. */
  readonly takeRefused?: () => readonly RefusedHost[];
  /**
   * Paths of the user's home (`~/.foo`) that these words of a failed command name, that exist, and that the job is not
   * shown. Absent where the home is not hidden.
   */
  readonly hiddenHome?: (words: string) => readonly string[];
  /**
   * The home that jobs share, where it was put aside because this job, or one that was cut off, left it unusable. Asked
   * after the end of the view.
   */
  readonly homeAside?: () => string | null;
  /** The parts that a job needs to stay open over several steps. Absent if it cannot. */
  readonly layers?: Layers;
  /**
   * Ends the view and everything that runs in it, has the judge validate the remaining difference, and stages
   * exactly the changes that passed under the job's id. A view whose processes were ended before, or that was
   * opened again, seals alike. Files that commands left in the job's private home layer stay for later jobs
   * unless it ends as a preview.
   */
  seal(judge: ValidateDifference, end?: { readonly preview: boolean }): Promise<SealedChanges>;
  /** Ends the view and forgets everything it held. */
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

export interface EntryState {
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** Permissions with the bits 07000. */
  readonly mode: number;
  /** Bytes of a file. */
  readonly size: number;
}

/** All changes of a job, after every process that ran in it has ended. */
export interface Difference extends BeforeAndAfter {
  /** One entry a path, git's object store included. A folder that went with all it held is one. */
  readonly changes: readonly Change[];
  /** The former entries below a folder that was removed or replaced. */
  below(path: string): Iterable<string>;
}

export interface DifferenceVerdict {
  /** Paths that stay as they were at begin, with all below; folders that were made for them alone go too. */
  readonly drop: readonly string[];
  /** Files of the job that land with other bytes. */
  readonly rewrite: ReadonlyMap<string, Uint8Array>;
}

/** A transaction on disk, with or without a running sandbox. In both states it can be sealed or discarded. */
export interface Layers {
  /**
   * Ends every process in the view, and the sandbox; their changes stay. Idempotent. Rejects if the sandbox had ended
   * before: its work may be half done.
   */
  rest(): Promise<void>;
  /**
   * Opens the view again over the current workspace. Null on success; otherwise nothing ran. Idempotent. `head`: the view is
   * for a head, which is possible where `headPort` exists; the job must rest then.
   */
  wake(head?: HeadSurroundings): Promise<BeginRefusal | null>;
  /** The port in an open view that leads to the socket of its head; null where it has none. */
  readonly headPort?: () => number | null;
  /** Everything that differs from the workspace. */
  changes(): Change[];
  /** Files as the job has them, resting or awake. */
  readonly files: WorkspaceFiles;
  /**
   * Opens a view over the job's present state, or over the current workspace, whose changes are discarded. The
   * job must rest, unless the view is of the workspace. Absent where that cannot be.
   */
  readonly openCheck?: (request: CheckViewRequest) => Promise<OpenedCheck>;
  /** The files that commands left in the private home. Absent where views of checks cannot be kept from it. */
  readonly homes?: () => HomeTraces;
  /** Absent, like the next two, where a job cannot be brought onto a workspace that moved on. */
  readonly moved?: () => readonly MovedPath[];
  /**
   * Gives a file of the job these bytes, which include the workspace's present content `theirs`: that becomes the entry that
   * the job found. False, and nothing is done, if the workspace does not have `theirs`. The job must rest.
   */
  readonly adopt?: (path: string, theirs: Uint8Array, bytes: Uint8Array) => boolean;
  /** Drops the job's changes at these paths, which then show the workspace's content. The job must rest. */
  readonly forget?: (paths: readonly string[]) => void;
  /** Edits that are staged without any process, for another view; they are forgotten here. */
  readonly takeEdits?: () => TakenEdits;
}

/** The parts that the sandbox of a head has beyond that of commands. All paths are absolute and real. */
export interface HeadSurroundings {
  /**
   * The folder of a home layer of its own, above the job's. Neither checks nor other jobs see it, no commit merges it, and
   * it is kept when the draft ends.
   */
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

/** Files that commands left in a private home. */
export interface HomeTraces {
  /** Whether earlier jobs, undone ones among them, left any. */
  readonly earlier: boolean;
  /** Those of the job itself, relative to the home; a few hundred at most. */
  readonly own: readonly string[];
  /** Programs and settings, in the home or beside the project's files, that are not what they were before the job; as people read them. */
  readonly programs?: readonly string[];
}

export interface CheckViewRequest {
  readonly over: "draft" | "baseline";
  /** `bare`: the home shows nothing that a command of any job left in it. */
  readonly home: "bare" | "whole";
  readonly network: boolean;
  /** Whether the output that `keepBuilt` kept is visible. */
  readonly built: boolean;
  /**
   * The next view of the same name shows the writes again, where layers allow it; a view of another name
   * forgets them.
   */
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
  /** Whether `keepBuilt` kept something that shows here. */
  readonly hasBuilt: boolean;
  /**
   * Keeps the files written here below these paths, relative to the workspace, for checks that ask for them. Called when
   * nothing runs in it any more, before `close`. Absent where it cannot.
   */
  readonly keepBuilt?: (paths: readonly string[]) => Promise<void>;
  /** Ends its processes and discards its changes. Idempotent. */
  close(): Promise<void>;
}

export type TakenEdits =
  | { readonly ok: true; readonly edits: readonly TakenEdit[] }
  /** This path of the workspace was changed from outside since it was edited here. */
  | { readonly ok: false; readonly path: string };

export interface TakenEdit {
  readonly path: string;
  readonly entry: Entry;
  /** Of a file. */
  readonly bytes: Uint8Array | null;
}

/** Makes edits of one view in another that shows the same workspace, all or none. Throws `ViewFault`. */
export function takeInEdits(view: View, edits: readonly TakenEdit[]): void {
  if (view.takeIn !== undefined) {
    view.takeIn(edits);
    return;
  }
  const before = readEntries(view, edits);
  try {
    applyEdits(view, edits);
  } catch (error) {
    applyEdits(view, before);
    throw error;
  }
}

/** The view at the paths of edits and at the folders above them. */
function readEntries(view: View, edits: readonly TakenEdit[]): TakenEdit[] {
  const paths = edits.flatMap(({ path }) =>
    path.split("/").map((_, at, names) => names.slice(0, at + 1).join("/")),
  );
  return [...new Set(paths)].map((path) => {
    const entry = view.look(path);
    return { path, entry, bytes: entry.kind === "file" ? view.read(path) : null };
  });
}

function applyEdits(view: View, edits: readonly TakenEdit[]): void {
  const byDepth = [...edits].sort((x, y) => x.path.length - y.path.length);
  for (const { path, entry } of byDepth.toReversed()) {
    const { kind } = view.look(path);
    if (kind !== "missing" && kind !== entry.kind) view.remove(path);
  }
  for (const { path, entry, bytes } of byDepth) {
    switch (entry.kind) {
      case "directory":
        view.makeDirectory(path);
        break;
      case "file":
        view.write(path, bytes ?? new Uint8Array(), entry.mode);
        break;
      case "symlink":
        if (view.look(path).kind !== "missing") view.remove(path);
        view.makeSymlink(path, entry.target);
        break;
      case "missing":
      case "other":
        break;
    }
  }
}

export interface RefusedHost {
  readonly host: string;
  readonly reason: RefusedDestination;
  readonly count: number;
}

export interface Repository {
  /** The workspace's path in the folder that git tracks: empty, or `packages/api`. */
  readonly workspaceAt: string;
  readonly index: string;
  readonly objects: string;
  readonly history: GitHistory;
}

/** Git's objects when the job began. Paths are relative to the folder that git tracks. */
export interface GitHistory {
  /** The object of the file that a commit has at a path; `unknown` when git did not have that commit. */
  at(commit: string, path: string): string | "nothing" | "unknown";
  /** Whether any commit that a branch, a tag or the checkout leads to had this object at the path. */
  had(path: string, object: string): boolean;
}

export interface SealedChanges {
  readonly changes: readonly Change[];
  /** Paths of the workspace that changed while the job ran, though not through its view. */
  readonly outside: readonly string[];
  /** Entries that the view could not show or cover, one for each kind. */
  readonly notes: readonly SealNote[];
  /**
   * The paths that the job touched under names that are not UTF-8, in readable form. Nothing is staged then:
   * such a change cannot be recorded, and the rest without it is not the job's change.
   */
  readonly noText?: readonly string[];
  /** A file of another owner or group that the view could not change. Nothing is staged then either. */
  readonly foreignOwner?: string;
  /** Folders of the job that hold names too long for the system to open. Nothing is staged either. */
  readonly tooDeep?: readonly string[];
  /** Commands of the job that could not be ended, and could continue to write to committed files. Nothing is staged either. */
  readonly outlived?: readonly string[];
}

export type SwapOutcome =
  | {
      readonly status: "done";
      readonly changes: readonly Change[];
      readonly left: readonly UntouchedPath[];
      /** The damaged record that was rebuilt first. */
      readonly rebuilt?: string;
    }
  | { readonly status: "conflict"; readonly conflicts: readonly Conflict[] }
  | {
      readonly status: "refused";
      /** `workspace-gone`: the folder was removed or moved since the job began; nothing was written anywhere. */
      readonly reason: "unknown-job" | "wrong-state" | "evicted" | "busy" | UnusableJob;
      /** `damaged`, `closed`, `newer`: the file of the job's record that cannot be read; `data-gone`: what it has no other side for any more. */
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

/** A job with a record that could not be read. */
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
  /** Why it is stuck. */
  readonly conflicts: readonly Conflict[];
  /** Paths that it had not reached and that were edited since: it left them as they are. */
  readonly left: readonly string[];
  readonly aside?: KeptAside;
}

export type JobState = "running" | "staged" | "committed" | "undone" | "discarded" | "evicted";
