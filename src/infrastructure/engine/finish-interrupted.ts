import type { Conflict, RepairedJob } from "../../application/ports/jobs-transaction.ts";
import { readKeptEntries } from "./transaction-held-files.ts";
import { clearIntent, type Intent, readIntent } from "./intent.ts";
import { type JobFolder, jobFolder, type Plan, readPlan, readState, writePlan } from "./job-folder.ts";
import { readOwnPlan } from "./own-plan.ts";
import { type EditedPaths, findEditedPaths, finishExchange, interruptedSwap } from "./repair.ts";
import { addRepairMark } from "./repair-marks.ts";
import { runSwap } from "./swap.ts";
import { foreignRootConflict, type SwapDeps, settleSwap, toConflict } from "./swap-job.ts";
import { type Swap, shownPath } from "./turns.ts";

/**
 * Finishes the swap that an intent says was begun. What somebody edited since stays as it is, and the rest is finished
 * around it. Called under the lock; null when there is none.
 */
export function finishInterrupted(parts: SwapDeps): RepairedJob | null {
  const { storage, workspace } = parts;
  const intent = readIntent(storage);
  if (intent === null) return null;
  const { job_id: jobId, direction } = intent;
  const folder = jobFolder(storage, jobId);
  const own = readOwnPlan(folder, workspace);
  const stuck = (conflict: Conflict): RepairedJob => ({
    jobId,
    direction,
    outcome: "stuck",
    conflicts: [conflict],
    left: [],
  });
  if (own.status === "foreign") return stuck(foreignRootConflict(own, workspace));
  if (own.status === "none" || readState(folder)?.turn === intent.turn) {
    if (own.status === "own") markRepair(folder, intent, []);
    clearIntent(storage);
    return { jobId, direction, outcome: "finished", conflicts: [], left: [] };
  }
  const work = interruptedSwap(folder, own.plan, intent);
  const edited = findEditedPaths(work, workspace, intent);
  try {
    finishAround(parts, work, edited);
  } catch (error) {
    return stuck(toConflict(error, workspace));
  }
  const left = work.turns
    .filter(({ op }) => edited.left.has(op.n) && op.area !== "object")
    .map(({ op }) => shownPath(work.plan, op, workspace))
    .sort();
  markRepair(folder, intent, left);
  if (intent.taking_back === true) clearIntent(storage);
  else
    settleSwap(parts, dropLeftOps(work, intent, edited), intent, {
      left: edited.left,
      lying: readKeptEntries(work),
    });
  return { jobId, direction, outcome: outcomeOf(intent), conflicts: [], left };
}

function finishAround({ at }: SwapDeps, work: Swap, edited: EditedPaths): void {
  for (const turn of work.turns) if (edited.ops.has(turn.op.n)) finishExchange(work, turn);
  runSwap({ ...work, turns: work.turns.filter(({ op }) => !edited.ops.has(op.n)) }, at);
}

/** A commit that left a path out never had it: no undo, redo or diff of the job is to speak of it. */
function dropLeftOps(work: Swap, { direction }: Intent, { left }: EditedPaths): Swap {
  if (direction !== "commit" || left.size === 0) return work;
  const without = (plan: Plan): Plan => ({ ...plan, ops: plan.ops.filter(({ n }) => !left.has(n)) });
  // As it was written: the roots of `work` are those of today.
  const written = readPlan(work.folder);
  if (written !== null) writePlan(work.folder, without(written));
  return { ...work, plan: without(work.plan) };
}

function markRepair(folder: JobFolder, intent: Intent, left: readonly string[]): void {
  const { direction, turn } = intent;
  addRepairMark(folder, { turn, direction, outcome: outcomeOf(intent), left });
}

function outcomeOf({ taking_back: takingBack }: Intent): "finished" | "taken-back" {
  return takingBack === true ? "taken-back" : "finished";
}
