import { relative } from "node:path";
import type {
  Conflict,
  JobState,
  SwapOutcome,
  UntouchedPath,
} from "../../application/ports/jobs-transaction.ts";
import { type Anchors, createAnchors } from "./anchor.ts";
import { type Identity, identify, sameUntouched } from "./entry-identity.ts";
import { checkSwap, isOutOfReach } from "./check.ts";
import { findUnwritableFolders } from "./doors.ts";
import { takeStamp } from "./fs-stamp.ts";
import { lateWriters, readKeptEntries } from "./transaction-held-files.ts";
import { clearIntent, type Intent, writeIntent } from "./intent.ts";
import {
  type JobFolder,
  type Op,
  type Plan,
  readSwapRecord,
  removeSwapRecord,
  type SwapRecordEntry,
  writeState,
  writeSwapRecord,
} from "./job-folder.ts";
import type { OwnPlan } from "./own-plan.ts";
import { toChanges } from "./plan-changes.ts";
import { jobBytes } from "./job-quota.ts";
import { reverseSwap } from "./repair.ts";
import { type Checkpoint, runSwap } from "./swap.ts";
import { SwapFailure } from "./swap-failure.ts";
import {
  type Direction,
  isSameEntry,
  keepsFolder,
  recordedStep,
  rootOf,
  type Swap,
  type SwapStep,
} from "./turns.ts";
import { exchangedFolders } from "./way-folders.ts";

export interface SwapDeps {
  readonly storage: string;
  readonly workspace: string;
  readonly now: () => Date;
  readonly at: Checkpoint;
}

export interface SwapRequest {
  readonly folder: JobFolder;
  readonly plan: Plan;
  readonly turn: number;
  readonly direction: Intent["direction"];
  readonly force: boolean;
}

/** Checks, writes the intent, swaps, notes what stands now. Called under the lock. */
export function swapJob(parts: SwapDeps, request: SwapRequest): SwapOutcome {
  const { storage, workspace, at } = parts;
  const { folder, plan, force } = request;
  const direction: Direction = request.direction === "undo" ? "back" : "forward";
  const stands = readSwapRecord(folder, request.turn);
  const { conflicts, turns, left } = checkSwap({ folder, plan, workspace, direction, stands });
  const stopping = conflicts.filter(({ reason }) => !force || isOutOfReach(reason));
  if (stopping.length > 0) return { status: "conflict", conflicts: stopping };
  const active = new Set(turns.map(({ op }) => op.n));
  const intent: Intent = {
    job_id: folder.id,
    direction: request.direction,
    turn: request.turn + 1,
    skip: plan.ops.filter(({ n }) => !active.has(n)).map(({ n }) => n),
    found: turns
      .filter((turn) => !isRecorded(turn, recordedStep(turn.op, direction, stands)))
      .map(toFoundEntry),
    doors: findUnwritableFolders(plan, turns),
  };
  const work: Swap = { folder, plan, direction, turns, doors: intent.doors };
  at("checked");
  writeIntent(storage, intent);
  at("intent");
  let kept: UntouchedPath[];
  try {
    kept = runSwap(work, at);
  } catch (error) {
    return rollBackSwap(parts, work, intent, () => [toConflict(error, workspace)]);
  }
  at("swapped");
  const lying = readKeptEntries(work);
  const late = force ? [] : lateWriters(work, workspace, lying, BigInt(stands?.stamp ?? plan.stamp));
  if (stands === null) late.push(...exchangedFolders(plan, workspace).conflicts);
  if (late.length > 0) return rollBackSwap(parts, work, intent, () => late);
  settleSwap(parts, work, intent, { left: new Set(), lying });
  return {
    status: "done",
    changes: toChanges(
      turns.map(({ op }) => op),
      plan.roots,
      workspace,
    ),
    left: [...left, ...kept.map((one) => ({ ...one, path: relative(workspace, one.path) }))],
  };
}

/** What cannot be put back now either stays noted in the intent, for a repair. */
function rollBackSwap(
  { storage, workspace, at }: SwapDeps,
  work: Swap,
  intent: Intent,
  why: () => readonly Conflict[],
): SwapOutcome {
  writeIntent(storage, { ...intent, taking_back: true });
  at("taking back");
  try {
    runSwap(reverseSwap(work), at);
  } catch (error) {
    return { status: "conflict", conflicts: [...why(), toConflict(error, workspace)] };
  }
  clearIntent(storage);
  return { status: "conflict", conflicts: why() };
}

function isRecorded(turn: SwapStep, recorded: SwapStep): boolean {
  return sameUntouched(turn.goes, recorded.goes) && isSameEntry(turn.comes, recorded.comes);
}

function toFoundEntry({ op, goes, comes }: SwapStep): Intent["found"][number] {
  return [op.n, goes, comes];
}

/** A path that was saved in the last instant, or that the system does not let us rename; bugs are thrown on. */
export function toConflict(error: unknown, workspace: string): Conflict {
  if (!(error instanceof SwapFailure)) throw error;
  if (error.cause !== undefined && typeof (error.cause as { code?: unknown }).code !== "string") throw error;
  return {
    path: relative(workspace, error.path),
    reason: error.cause === undefined ? "changed" : "no-access",
  };
}

interface SwapLeftovers {
  /** Ops that the user had edited before they were reached: what stands there is the user's. */
  readonly left: ReadonlySet<number>;
  /** What lies in the slots. */
  readonly lying: ReadonlyMap<number, Identity | null>;
}

/** After the last rename: what stands now, the new state, and the intent goes. */
export function settleSwap(
  parts: SwapDeps,
  work: Swap,
  intent: Intent,
  { left, lying }: SwapLeftovers,
): void {
  const { folder, plan } = work;
  const turns = new Map(work.turns.map((turn) => [turn.op.n, turn]));
  const entries = new Map<number, SwapRecordEntry>();
  const anchors = createAnchors();
  for (const op of plan.ops) {
    const turn = turns.get(op.n);
    const kept = lying.get(op.n) ?? null;
    const standing = left.has(op.n) ? (turn?.goes ?? null) : currentEntryAt(plan, op, turn, anchors);
    entries.set(op.n, { standing, kept });
  }
  anchors.close();
  const stamp = plan.ops.some(movesContents) ? takeStamp(`${folder.path}/stamp`) : 0n;
  writeSwapRecord(folder, intent.turn, { stamp: String(stamp), entries });
  parts.at("stands");
  writeState(folder, {
    state: targetState(intent.direction),
    at: parts.now().toISOString(),
    bytes: jobBytes(folder),
    turn: intent.turn,
  });
  parts.at("state");
  clearIntent(parts.storage);
  parts.at("cleared");
  removeSwapRecord(folder, intent.turn - 1);
}

/** What we put there. If somebody has written to it since, that is theirs: a later swap must see the difference. */
function currentEntryAt(plan: Plan, op: Op, turn: SwapStep | undefined, anchors: Anchors): Identity | null {
  let now: Identity | null = null;
  try {
    now = identify(rootOf(plan, op), op.path, anchors);
  } catch {
    return turn?.comes ?? null;
  }
  if (turn === undefined || keepsFolder(op) || turn.comes === null) return now;
  return isSameEntry(now, turn.comes) ? now : turn.comes;
}

function movesContents({ a, b }: Op): boolean {
  return (a?.kind === "directory") !== (b?.kind === "directory");
}

function targetState(direction: Intent["direction"]): JobState {
  return direction === "undo" ? "undone" : "committed";
}

export function foreignRootConflict(
  { root }: Extract<OwnPlan, { status: "foreign" }>,
  workspace: string,
): Conflict {
  return { path: relative(workspace, root), reason: "no-access" };
}
