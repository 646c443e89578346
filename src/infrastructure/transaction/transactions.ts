import { existsSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import type {
  BeginRequest,
  Begun,
  Conflict,
  Evicted,
  JobState,
  LeftAlone,
  Repaired,
  SwapOutcome,
  Transactions,
} from "../../application/ports/transaction.ts";
import { type Identity, identify } from "../workspace/identity.ts";
import { checkSwap, type Expectation } from "./check.ts";
import { beginCopyTransaction } from "./copy-transaction.ts";
import { createDirectTransaction } from "./direct-transaction.ts";
import { createInPlaceTransaction } from "./in-place-transaction.ts";
import { clearIntent, type Intent, readIntent, writeIntent } from "./intent.ts";
import {
  createJobFolder,
  type JobFolder,
  jobFolder,
  type Plan,
  readPlan,
  readStands,
  readState,
  removeSlots,
  writeStands,
  writeState,
} from "./job-folder.ts";
import { withWorkspaceLock } from "./lock.ts";
import { changesOf } from "./plan-changes.ts";
import { evictPastQuota, slotBytes } from "./quota.ts";
import { resumeSwap } from "./repair.ts";
import type { Storage } from "./storage.ts";
import { type Checkpoint, type Direction, LateConflict, rootOf, swap } from "./swap.ts";

export interface TransactionParts {
  readonly storage: Storage;
  readonly copyLimitBytes: number;
  readonly lockTimeoutMs: number;
  readonly isOwn: (absolute: string) => boolean;
  readonly copyAttributes: (from: string, toDescriptor: number) => void;
  readonly now: () => Date;
  /** For fault tests: called between the steps of a swap. */
  readonly checkpoint?: Checkpoint;
}

/** The one commit and undo engine for every way to stage. */
export function createTransactions(parts: TransactionParts): Transactions {
  const { storage, now } = parts;
  const { workspace } = storage;
  const at: Checkpoint = parts.checkpoint ?? (() => {});

  async function begin({ jobId, kind }: BeginRequest): Promise<Begun> {
    const trouble = workspaceTrouble(workspace);
    if (trouble !== null) return trouble;
    const folder = createJobFolder(storage.folder, jobId);
    setState(folder, "running", { pid: process.pid });
    switch (kind) {
      case "direct":
        return {
          ok: true,
          transaction: createDirectTransaction({ workspace, folder, copyAttributes: parts.copyAttributes }),
        };
      case "none":
        return { ok: true, transaction: createInPlaceTransaction(workspace, folder) };
      default:
        return beginCopyTransaction({
          workspace,
          folder,
          limitBytes: parts.copyLimitBytes,
          isOwn: parts.isOwn,
        });
    }
  }

  function setState(folder: JobFolder, state: JobState, more: { bytes?: number; pid?: number } = {}): void {
    writeState(folder, { state, at: now().toISOString(), ...more });
  }

  function commitExpectation(plan: Plan): Expectation {
    return { stands: (op) => op.a, quietSince: () => BigInt(plan.stamp), leaveGitState: false };
  }

  function laterExpectation(folder: JobFolder): Expectation {
    const stands = readStands(folder);
    return {
      stands: (op) => stands.get(op.n) ?? null,
      quietSince: (op) => BigInt(stands.get(op.n)?.ctime ?? "0") + 1n,
      leaveGitState: true,
    };
  }

  /** Checks, writes the intent, swaps, notes what stands now. Called under the lock. */
  function exchange(
    folder: JobFolder,
    plan: Plan,
    intent: Omit<Intent, "skip" | "job_id">,
    expect: Expectation,
    force: boolean,
  ): SwapOutcome {
    const direction: Direction = intent.direction === "undo" ? "back" : "forward";
    const checked = checkSwap(plan, workspace, direction, expect);
    const stopping = checked.conflicts.filter(
      ({ reason }) => !force || reason === "parent-missing" || reason === "no-access",
    );
    if (stopping.length > 0) return { status: "conflict", conflicts: stopping };
    const skip = new Set(checked.skip);
    at("checked");
    writeIntent(storage.folder, { job_id: folder.id, direction: intent.direction, skip: [...skip] });
    at("intent");
    let left: LeftAlone[];
    try {
      left = swap(folder, plan, direction, skip, at);
    } catch (error) {
      swap(folder, plan, direction === "forward" ? "back" : "forward", skip, () => {});
      clearIntent(storage.folder);
      if (error instanceof LateConflict)
        return {
          status: "conflict",
          conflicts: [{ path: relative(workspace, error.path), reason: "changed" }],
        };
      throw error;
    }
    settle(folder, plan, intent.direction);
    const touched = plan.ops.filter((op) => !skip.has(op.n));
    return {
      status: "done",
      changes: changesOf(touched, plan.roots, workspace),
      left: [...checked.left, ...left.map((one) => ({ ...one, path: relative(workspace, one.path) }))],
    };
  }

  /** After the last rename: what stands now, the new state, and the intent goes. */
  function settle(folder: JobFolder, plan: Plan, direction: Intent["direction"]): void {
    const stands = new Map<number, Identity | null>();
    for (const op of plan.ops) stands.set(op.n, identify(rootOf(plan, op), op.path));
    writeStands(folder, stands);
    at("stands");
    setState(folder, direction === "undo" ? "undone" : "committed", { bytes: slotBytes(folder) });
    at("state");
    clearIntent(storage.folder);
    at("cleared");
  }

  async function locked(use: () => SwapOutcome): Promise<SwapOutcome> {
    const outcome = await withWorkspaceLock(workspace, parts.lockTimeoutMs, () => {
      const stuck = finishInterrupted();
      if (stuck !== null && stuck.outcome === "stuck")
        return { status: "conflict", conflicts: stuck.conflicts } as SwapOutcome;
      return use();
    });
    return outcome === "busy" ? { status: "refused", reason: "busy" } : outcome;
  }

  function finishInterrupted(): Repaired | null {
    const intent = readIntent(storage.folder);
    if (intent === null) return null;
    const folder = jobFolder(storage.folder, intent.job_id);
    const plan = readPlan(folder);
    if (plan === null) {
      clearIntent(storage.folder);
      return { jobId: intent.job_id, direction: intent.direction, outcome: "finished", conflicts: [] };
    }
    const conflicts: Conflict[] = resumeSwap(folder, plan, intent, at);
    if (conflicts.length > 0)
      return { jobId: intent.job_id, direction: intent.direction, outcome: "stuck", conflicts };
    settle(folder, plan, intent.direction);
    return { jobId: intent.job_id, direction: intent.direction, outcome: "finished", conflicts: [] };
  }

  function swapJob(
    jobId: string,
    from: JobState,
    direction: Intent["direction"],
    force: boolean,
  ): Promise<SwapOutcome> {
    return locked(() => {
      const folder = jobFolder(storage.folder, jobId);
      const state = readState(folder);
      if (state === null) return { status: "refused", reason: "unknown-job" };
      if (state.state === "evicted") return { status: "refused", reason: "evicted" };
      if (state.state !== from) return { status: "refused", reason: "wrong-state", state: state.state };
      const plan = readPlan(folder);
      if (plan === null) return { status: "refused", reason: "evicted" };
      const expect = direction === "commit" ? commitExpectation(plan) : laterExpectation(folder);
      return exchange(folder, plan, { direction }, expect, force);
    });
  }

  return {
    begin,
    commit: (jobId) => {
      const state = readState(jobFolder(storage.folder, jobId));
      if (state?.state === "running") setState(jobFolder(storage.folder, jobId), "staged");
      return swapJob(jobId, "staged", "commit", false);
    },
    undo: (jobId, { force }) => swapJob(jobId, "committed", "undo", force),
    redo: (jobId, { force }) => swapJob(jobId, "undone", "redo", force),
    discard: async (jobId) => {
      const folder = jobFolder(storage.folder, jobId);
      removeSlots(folder);
      setState(folder, "discarded");
    },
    stage: async (jobId) => {
      const folder = jobFolder(storage.folder, jobId);
      setState(folder, "staged", { bytes: slotBytes(folder) });
    },
    repair: async () => {
      if (!existsSync(join(storage.folder, "intent.json"))) return null;
      const outcome = await withWorkspaceLock(workspace, parts.lockTimeoutMs, finishInterrupted);
      return outcome === "busy" ? null : outcome;
    },
    enforceQuota: async (quotaBytes, keep): Promise<readonly Evicted[]> =>
      evictPastQuota(storage.folder, quotaBytes, keep, now),
  };
}

function workspaceTrouble(workspace: string): Begun | null {
  const stats = statSync(workspace, { throwIfNoEntry: false });
  if (stats === undefined)
    return {
      ok: false,
      refusal: { code: "workspace-missing", message: `workspace does not exist: ${workspace}` },
    };
  if (!stats.isDirectory())
    return {
      ok: false,
      refusal: { code: "not-a-directory", message: `workspace is not a directory: ${workspace}` },
    };
  return null;
}
