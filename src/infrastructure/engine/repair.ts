import { renameSync } from "node:fs";
import type { Conflict } from "../../application/ports/jobs-transaction.ts";
import { identify, identifyAt } from "./entry-identity.ts";
import type { Intent } from "./intent.ts";
import { type JobFolder, type Plan, readSwapRecord } from "./job-folder.ts";
import type { Swap } from "./turns.ts";
import {
  type Direction,
  inSlot,
  isSameEntry,
  keepsFolder,
  oppositeDirection,
  outSlot,
  recordedStep,
  reverseStep,
  rootOf,
  type SwapStep,
  shownPath,
  staysInPlace,
} from "./turns.ts";

/** A swap that was cut off, as its intent and the record of the job tell it. */
export function interruptedSwap(folder: JobFolder, plan: Plan, intent: Intent): Swap {
  const direction: Direction = intent.direction === "undo" ? "back" : "forward";
  const stands = readSwapRecord(folder, intent.turn - 1);
  const skip = new Set(intent.skip);
  const found = new Map(intent.found.map(([n, goes, comes]) => [n, { goes, comes }]));
  const turns = plan.ops
    .filter((op) => !skip.has(op.n))
    .map((op) => ({ ...recordedStep(op, direction, stands), ...found.get(op.n) }));
  const swap: Swap = { folder, plan, direction, turns, doors: intent.doors };
  return intent.taking_back === true ? reverseSwap(swap) : swap;
}

/** The swap that puts everything back. */
export function reverseSwap(swap: Swap): Swap {
  return { ...swap, direction: oppositeDirection(swap.direction), turns: swap.turns.map(reverseStep) };
}

export interface EditedPaths {
  readonly conflicts: readonly Conflict[];
  /** The ops that somebody edited since, and those that cannot be finished around them. */
  readonly ops: ReadonlySet<number>;
  /** Those among them that the swap had not reached: they are left out of it. */
  readonly left: ReadonlySet<number>;
}

/**
 * Paths that are neither before nor after the swap: somebody edited them since it was cut off. When it is being taken
 * back, paths that it has not reached, or that are back already, are the user's to edit.
 */
export function findEditedPaths(swap: Swap, workspace: string, intent: Intent): EditedPaths {
  const takingBack = intent.taking_back === true;
  const edited = swap.turns.filter((turn) => isOther(swap, turn) && !(takingBack && isDone(swap, turn)));
  const paths = edited.map(({ op }) => `${op.root}:${op.path}`);
  const touches = ({ op, goes }: SwapStep) => {
    const own = `${op.root}:${op.path}`;
    return paths.some(
      (path) =>
        path === own ||
        own.startsWith(`${path}/`) ||
        (goes?.kind === "directory" && path.startsWith(`${own}/`)),
    );
  };
  const touched = edited.length === 0 ? [] : swap.turns.filter(touches);
  return {
    conflicts: edited.map(({ op }) => ({ path: shownPath(swap.plan, op, workspace), reason: "changed" })),
    ops: new Set(touched.map(({ op }) => op.n)),
    left: new Set(touched.filter((turn) => !isReached(swap, turn)).map(({ op }) => op.n)),
  };
}

/** Whether the swap had put its side there before somebody went on from it. */
function isReached({ folder, plan, direction }: Swap, { op, goes, comes }: SwapStep): boolean {
  if (staysInPlace(op)) return identify(rootOf(plan, op), op.path)?.mode === comes?.mode;
  const waiting = identifyAt(inSlot(folder, op, direction));
  if (goes === null) return !isSameEntry(waiting, comes);
  return isSameEntry(identifyAt(outSlot(folder, op, direction)), goes) || isSameEntry(waiting, goes);
}

/** An exchange that was cut off before its second step, at a path that is left alone: what stood there goes to its slot. */
export function finishExchange({ folder, direction }: Swap, { op, goes }: SwapStep): void {
  const [from, out] = [inSlot(folder, op, direction), outSlot(folder, op, direction)];
  if (goes === null || staysInPlace(op) || identifyAt(out) !== null) return;
  if (isSameEntry(identifyAt(from), goes)) renameSync(from, out);
}

function isDone({ folder, direction }: Swap, { op, goes, comes }: SwapStep): boolean {
  const isWaiting = isSameEntry(identifyAt(inSlot(folder, op, direction)), comes);
  if (goes === null) return !isWaiting;
  const isOut = isSameEntry(identifyAt(outSlot(folder, op, direction)), goes);
  return isOut && (comes === null || !isWaiting);
}

function isOther({ folder, plan, direction }: Swap, { op, goes, comes }: SwapStep): boolean {
  const here = identify(rootOf(plan, op), op.path);
  if (keepsFolder(op)) return here?.kind !== "directory";
  if (staysInPlace(op))
    return !isSameEntry(here, goes) || (here?.mode !== goes?.mode && here?.mode !== comes?.mode);
  const out = identifyAt(outSlot(folder, op, direction));
  const waiting = identifyAt(inSlot(folder, op, direction));
  if (goes === null) return !isSameEntry(here, isSameEntry(waiting, comes) ? null : comes);
  if (comes === null) return !isSameEntry(here, isSameEntry(out, goes) ? null : goes);
  if (isSameEntry(out, comes)) return !isSameEntry(here, goes);
  if (isSameEntry(out, goes) && isSameEntry(waiting, comes)) return here !== null;
  return !isSameEntry(here, isSameEntry(out, goes) || isSameEntry(waiting, goes) ? comes : goes);
}
