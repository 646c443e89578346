import { lstatSync } from "node:fs";
import type { Conflict } from "../../application/ports/transaction.ts";
import { type Identity, identify } from "../workspace/identity.ts";
import type { Intent } from "./intent.ts";
import { type JobFolder, type Op, type Plan, slot } from "./job-folder.ts";
import { type Checkpoint, incoming, LateConflict, outgoing, rootOf, swap } from "./swap.ts";

/**
 * Finishes a swap that was cut off. The slots say for each path whether it is still before, already after, or
 * in between; a path that is before must still hold what the job expected, or somebody edited it since: then
 * nothing more is moved and the path is returned.
 */
export function resumeSwap(folder: JobFolder, plan: Plan, intent: Intent, at: Checkpoint): Conflict[] {
  const direction = intent.direction === "undo" ? "back" : "forward";
  const skip = new Set(intent.skip);
  const conflicts: Conflict[] = [];
  for (const op of plan.ops) {
    if (!skip.has(op.n) && isOther(folder, plan, op, direction))
      conflicts.push({ path: op.path, reason: "changed" });
  }
  if (conflicts.length > 0) return conflicts;
  try {
    swap(folder, plan, direction, skip, at);
  } catch (error) {
    if (error instanceof LateConflict) return [{ path: error.path, reason: "changed" }];
    throw error;
  }
  return [];
}

/** Neither what the swap found nor what it was putting there. */
function isOther(folder: JobFolder, plan: Plan, op: Op, direction: "forward" | "back"): boolean {
  const standing = identify(rootOf(plan, op), op.path);
  if (standing === null) return false;
  const goes = outgoing(op, direction);
  const comes = incoming(op, direction);
  if (standing.kind === "directory") return goes?.kind !== "directory" && comes?.kind !== "directory";
  const outSlot = slot(folder, op.n, direction === "forward" ? "a" : "b");
  const inSlot = slot(folder, op.n, direction === "forward" ? "b" : "a");
  const movedOut = lstatSync(outSlot, { throwIfNoEntry: false }) !== undefined;
  const waiting = lstatSync(inSlot, { throwIfNoEntry: false }) !== undefined;
  if (waiting && !movedOut)
    return goes === null ? op.area !== "object" && !isInode(standing, comes) : !resembles(standing, goes);
  return false;
}

function isInode(standing: Identity, planned: Identity | null): boolean {
  return planned !== null && standing.ino === planned.ino;
}

/** Same kind, size and time of change; the inode may differ after a forced undo. */
function resembles(standing: Identity, planned: Identity): boolean {
  return standing.kind === planned.kind && standing.size === planned.size && standing.mtime === planned.mtime;
}
