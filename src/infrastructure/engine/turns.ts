import type { Identity } from "./entry-identity.ts";
import { pathBelow } from "./path-below.ts";
import type { UnwritableFolder } from "./intent.ts";
import { type JobFolder, type Op, opSlotPath, type Plan, type SwapRecord } from "./job-folder.ts";

export type Direction = "forward" | "back";

/** One op in one swap: what stands at its path and goes into a slot, what lies in a slot and comes to the path. */
export interface SwapStep {
  readonly op: Op;
  readonly goes: Identity | null;
  readonly comes: Identity | null;
}

/** Both sides of a plan, on their way to change places. */
export interface Swap {
  readonly folder: JobFolder;
  readonly plan: Plan;
  readonly direction: Direction;
  readonly turns: readonly SwapStep[];
  readonly doors: readonly UnwritableFolder[];
}

export function rootOf(plan: Plan, op: Op): string {
  return plan.roots[op.root] as string;
}

/** The path as the user knows it: relative to the workspace, also where the repository reaches beyond it. */
export function shownPath(plan: Plan, op: Op, workspace: string): string {
  return pathBelow(workspace, `${rootOf(plan, op)}/${op.path}`);
}

/** A folder that stays and only changes its mode or owner: no slot takes part. */
export function keepsFolder(op: Op): boolean {
  return op.a?.kind === "directory" && op.b?.kind === "directory";
}

/** An op for which nothing is moved. */
export function staysInPlace(op: Op): boolean {
  return keepsFolder(op) || op.inPlace === true;
}

/** A folder that stood before the job and goes with all it holds. */
export function removesWholeFolder({ op, goes, comes }: SwapStep): boolean {
  return goes?.kind === "directory" && comes?.kind !== "directory" && op.a !== null;
}

export function inSlot(folder: JobFolder, op: Op, direction: Direction): string {
  return opSlotPath(folder, op.n, direction === "forward" ? "b" : "a");
}

export function outSlot(folder: JobFolder, op: Op, direction: Direction): string {
  return opSlotPath(folder, op.n, direction === "forward" ? "a" : "b");
}

/** What the record says of an op: the plan before the first swap, then what the last swap left. */
export function recordedStep(op: Op, direction: Direction, stands: SwapRecord | null): SwapStep {
  const planned = direction === "forward" ? { goes: op.a, comes: op.b } : { goes: op.b, comes: op.a };
  if (stands === null) return { op, ...planned };
  const left = stands.entries.get(op.n);
  return {
    op,
    goes: left?.standing ?? null,
    comes: staysInPlace(op) ? planned.comes : (left?.kept ?? null),
  };
}

/** What was moved out comes back as it is by now: whoever had it open may have gone on writing. */
export function reverseStep({ op, goes, comes }: SwapStep): SwapStep {
  return { op, goes: comes, comes: goes?.kind === "file" ? { ...goes, mtime: ANY_TIME } : goes };
}

/** Stands for any contents of the same inode. */
const ANY_TIME = "any";

export function oppositeDirection(direction: Direction): Direction {
  return direction === "forward" ? "back" : "forward";
}

/** The same thing as far as a swap is concerned: the inode and, but for folders, its contents. */
export function isSameEntry(found: Identity | null, expected: Identity | null): boolean {
  if (found === null || expected === null) return found === expected;
  if (found.ino !== expected.ino || found.kind !== expected.kind) return false;
  if (expected.mtime === ANY_TIME) return true;
  return found.kind === "directory" || (found.size === expected.size && found.mtime === expected.mtime);
}
