import type { Change } from "../../domain/patch/result.ts";
import type { Refused } from "../../domain/policy/network.ts";
import type { TransactionKind, TransactionReason } from "../../domain/work/transaction-kind.ts";
import type { ProcessRunner } from "./process.ts";
import type { View } from "./view.ts";

/**
 * The transaction: stages a job's changes until commit or rollback.
 *
 * `begin` opens a view; commands run in it; `seal` ends the view and leaves a staged change set on disk that
 * `commit` swaps in, under a lock, path by path, or not at all. `undo` and `redo` are the same swap. After a
 * crash, `repair` finishes what an intent file says was begun. Nothing here needs git or a database.
 */
export interface Transactions {
  begin(request: BeginRequest): Promise<Begun>;
  /** All paths or none. A conflict leaves the job staged, as a preview. Idempotent for a committed job. */
  commit(jobId: string): Promise<SwapOutcome>;
  undo(jobId: string, options: { force: boolean }): Promise<SwapOutcome>;
  redo(jobId: string, options: { force: boolean }): Promise<SwapOutcome>;
  /** Keeps a sealed job as a preview. */
  stage(jobId: string): Promise<void>;
  /** Drops a staged job's change set; a job that was committed keeps its undo. */
  discard(jobId: string): Promise<void>;
  /**
   * Finishes an interrupted swap; null when nothing was interrupted. Where somebody edited a path since, it names
   * the path and touches nothing, unless told to keep such paths as they are and finish the rest.
   */
  repair(options?: { keepMine: boolean }): Promise<Repaired | null>;
  /** Evicts the oldest undo records past the quota; returns what went. */
  enforceQuota(quotaBytes: number, keep: string): Promise<readonly Evicted[]>;
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
}

export type Begun =
  | {
      readonly ok: true;
      readonly transaction: Transaction;
      /** Why it is not the kind that was asked for. */
      readonly insteadOf?: { readonly kind: TransactionKind; readonly reason: TransactionReason };
    }
  | { readonly ok: false; readonly refusal: Refusal };

/** Why no view could be opened; nothing ran. */
export interface Refusal {
  readonly code:
    | "too-large"
    | "workspace-missing"
    | "not-a-directory"
    | "no-space"
    | "read-only"
    | "permission"
    /** A file of the program itself is missing; `message` is its path. */
    | "installation"
    | "failed";
  readonly message: string;
  readonly bytes?: number;
  readonly limitBytes?: number;
}

export interface Transaction {
  readonly kind: TransactionKind;
  /** Files as the job sees them. */
  readonly view: View;
  /** The absolute folder where processes of the job run, or null when this kind runs none. */
  readonly directory: string | null;
  /** Runs processes inside the view, where this kind needs it; absent where any process runner will do. */
  readonly processes?: ProcessRunner;
  /** Further environment a process in the view needs. */
  readonly environment: Readonly<Record<string, string>>;
  /** What changed since the last call (or since begin). Cheap when only the view's own operations ran. */
  takeChanges(since: { processRan: boolean }): Change[];
  /**
   * For paths as `takeChanges` names them, which may lie beside the workspace (`../.git/config`) where the
   * repository does: puts them back to what they were at begin.
   */
  revert(paths: readonly string[]): void;
  /** The bytes such a path had at begin; null when it was not a file. */
  original(path: string): Uint8Array | null;
  /** The bytes such a path has now; null when it is not a file. */
  current(path: string): Uint8Array | null;
  /** The workspace's repository, in such paths; null when it has none or no process can run. */
  readonly repository: Repository | null;
  /** What the network of processes is limited to; absent where it is not. */
  readonly network?: "off" | "allow-list";
  /** Requests of processes that an allow-list refused since the last call. */
  readonly takeRefused?: () => readonly RefusedHost[];
  /** Ends the view; the change set stays staged under the job's id. */
  seal(): Promise<Sealed>;
  /** Ends the view and forgets everything it held. */
  discard(): Promise<void>;
}

export interface RefusedHost {
  readonly host: string;
  readonly reason: Refused;
  readonly count: number;
}

export interface Repository {
  /** Where the workspace lies in the folder that git tracks: empty, or `packages/api`. */
  readonly workspaceAt: string;
  readonly index: string;
  readonly objects: string;
}

export interface Sealed {
  readonly changes: readonly Change[];
  /** Paths of the workspace that changed while the job ran, though not through its view. */
  readonly outside: readonly string[];
  /** What the view could not show or cover, in plain words. */
  readonly notes: readonly string[];
}

export type SwapOutcome =
  | { readonly status: "done"; readonly changes: readonly Change[]; readonly left: readonly LeftAlone[] }
  | { readonly status: "conflict"; readonly conflicts: readonly Conflict[] }
  | {
      readonly status: "refused";
      readonly reason: "unknown-job" | "wrong-state" | "evicted" | "busy";
      readonly state?: JobState;
    };

export interface Conflict {
  readonly path: string;
  readonly reason: "changed" | "exists" | "missing" | "open" | "parent-missing" | "no-access";
  /** The process that holds it open, or the later job that changed it. */
  readonly by?: string;
}

/** A path that a swap did not touch on purpose: a ref or index that moved on, a folder that is not empty. */
export interface LeftAlone {
  readonly path: string;
  readonly reason: "moved-on" | "not-empty" | "object";
}

export interface Repaired {
  readonly jobId: string;
  readonly direction: "commit" | "undo" | "redo";
  /** `taken-back`: the swap had failed, and everything stands as it did before it. */
  readonly outcome: "finished" | "taken-back" | "stuck";
  readonly conflicts: readonly Conflict[];
}

export interface Evicted {
  readonly jobId: string;
  readonly bytes: number;
}

export type JobState = "running" | "staged" | "committed" | "undone" | "discarded" | "evicted";
