import type { Conflict, UntouchedPath } from "../../application/ports/jobs-transaction.ts";
import { type Anchors, createAnchors, inFolder, inParent } from "./anchor.ts";
import { type Identity, identify, identifyAt, isAbsence, sameUntouched } from "./entry-identity.ts";
import { hashAt } from "./content.ts";
import { isIndexFile } from "./git-area.ts";
import { findHeldFiles, isTouchedSince } from "./transaction-held-files.ts";
import type { JobFolder, Op, Plan, SwapRecord } from "./job-folder.ts";
import {
  type Direction,
  inSlot,
  keepsFolder,
  outSlot,
  recordedStep,
  rootOf,
  type SwapStep,
  shownPath,
  staysInPlace,
} from "./turns.ts";
import { exchangedFolders } from "./way-folders.ts";

export interface CheckRequest {
  readonly folder: JobFolder;
  readonly plan: Plan;
  readonly workspace: string;
  readonly direction: Direction;
  /** What the last swap left; null before the first. */
  readonly stands: SwapRecord | null;
}

export interface SwapCheck {
  readonly conflicts: readonly Conflict[];
  /** What there is to do, with what was found at each path and in each slot. */
  readonly turns: readonly SwapStep[];
  readonly left: readonly UntouchedPath[];
}

/** Looks at every path of a plan before anything is moved. */
export function checkSwap(request: CheckRequest): SwapCheck {
  const { folder, plan, workspace, direction, stands } = request;
  const shown = (op: Op) => shownPath(plan, op, workspace);
  const conflicts: Conflict[] = [];
  const turns: SwapStep[] = [];
  const left: UntouchedPath[] = [];
  const anchors = createAnchors();
  // Once a job is in effect, only what it put there tells whether the user has gone on from it.
  const exchanged = stands === null ? exchangedFolders(plan, workspace) : null;
  conflicts.push(...(exchanged?.conflicts ?? []));
  for (const op of plan.ops) {
    if (exchanged?.covers(op)) continue;
    const recorded = recordedStep(op, direction, stands);
    const seen = lookAtOp(request, recorded, anchors);
    const turn = { op, goes: seen.current, comes: comesFor(folder, recorded, direction) };
    if (!isOutOfReach(seen.reason) && !hasWork(turn, folder, direction)) continue;
    if (seen.reason === null) turns.push(turn);
    else if (op.area === "git" && stands !== null) left.push({ path: shown(op), reason: "moved-on" });
    else if (op.area !== "object") {
      conflicts.push({ path: shown(op), reason: seen.reason });
      if (canBeForced(turn, seen.reason)) turns.push(turn);
    }
  }
  anchors.close();
  return { conflicts: [...conflicts, ...findHeldFiles(plan, workspace, turns)], turns, left };
}

/** Nothing is known of what stands there, so that no force helps. */
export function isOutOfReach(reason: Conflict["reason"] | null): boolean {
  return reason === "parent-missing" || reason === "no-access";
}

function canBeForced({ op, goes }: SwapStep, reason: Conflict["reason"]): boolean {
  if (isOutOfReach(reason)) return false;
  return !staysInPlace(op) || goes?.kind === op.a?.kind;
}

function comesFor(folder: JobFolder, recorded: SwapStep, direction: Direction): Identity | null {
  return staysInPlace(recorded.op) ? recorded.comes : identifyAt(inSlot(folder, recorded.op, direction));
}

/** An op whose slots say that it is done, or that it was left alone the last time, has nothing to do. */
function hasWork({ op, goes, comes }: SwapStep, folder: JobFolder, direction: Direction): boolean {
  if (staysInPlace(op)) return true;
  const incoming = direction === "forward" ? op.b : op.a;
  if (incoming !== null) return comes !== null;
  if (op.area === "object" && direction === "back") return false;
  return goes !== null && identifyAt(outSlot(folder, op, direction)) === null;
}

interface SeenEntry {
  readonly current: Identity | null;
  readonly reason: Conflict["reason"] | null;
}

function lookAtOp(
  request: CheckRequest,
  { op, goes: expected, comes }: SwapStep,
  anchors: Anchors,
): SeenEntry {
  const root = rootOf(request.plan, op);
  let current: Identity | null = null;
  try {
    current = identify(root, op.path, anchors);
    if (current === null && comes !== null && !parentsAreFolders(request, op))
      return { current, reason: "parent-missing" };
  } catch (error) {
    return {
      current,
      reason: (error as { code?: string }).code === "EACCES" ? "no-access" : "parent-missing",
    };
  }
  try {
    return { current, reason: differenceReason(request, op, current, expected) };
  } catch (error) {
    // It went, or its folder was exchanged, while it was being looked at.
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    return { current, reason: "changed" };
  }
}

/** What tells the thing at a path from the one that is expected there; null when it is that one, or says the same. */
function differenceReason(
  { plan, direction, stands }: CheckRequest,
  op: Op,
  current: Identity | null,
  expected: Identity | null,
): Conflict["reason"] | null {
  const root = rootOf(plan, op);
  if (current === null || expected === null) {
    if (current === expected) return null;
    return current === null ? "missing" : "exists";
  }
  if (expected.kind === "directory" && current.kind === "directory")
    return folderReason(root, op, current, expected, BigInt(stands?.stamp ?? plan.stamp));
  if (sameUntouched(current, expected)) return null;
  if (current.kind !== expected.kind || op.area === "object") return "changed";
  const hash = direction === "forward" ? op.aHash : op.bHash;
  const isIndex = isIndexFile(op.path, op.area);
  if (hash === undefined || (!isIndex && (current.mode !== expected.mode || current.size !== expected.size)))
    return "changed";
  const said = inParent(root, op.path, (parent, name) => hashAt(`${parent}/${name}`, current, isIndex));
  return said === hash ? null : "changed";
}

/** A folder that goes with all it holds must be quiet; one that the job made gives back only what the job put in. */
function folderReason(
  root: string,
  op: Op,
  current: Identity,
  expected: Identity,
  since: bigint,
): Conflict["reason"] | null {
  if (keepsFolder(op)) return current.mode === expected.mode ? null : "changed";
  if (op.a === null) return null;
  if (BigInt(current.ctime) >= since) return "changed";
  return inFolder(root, op.path, (self) => isTouchedSince(self, since)) ? "changed" : null;
}

/** False when a parent is there but is no folder (a file, or a symlink that must not be followed). */
function parentsAreFolders({ plan, direction }: CheckRequest, { root, path }: Op): boolean {
  const parts = path.split("/");
  for (let i = 1; i < parts.length; i++) {
    const prefix = parts.slice(0, i).join("/");
    try {
      const found = inParent(plan.roots[root] as string, prefix, (parent, name) =>
        identifyAt(`${parent}/${name}`),
      );
      if (found === null) return true;
      if (found.kind !== "directory") return becomesFolder(plan, root, prefix, direction);
    } catch (error) {
      return !isAbsence(error);
    }
  }
  return true;
}

function becomesFolder(plan: Plan, root: number, path: string, direction: Direction): boolean {
  const op = plan.ops.find((each) => each.root === root && each.path === path);
  return (direction === "forward" ? op?.b : op?.a)?.kind === "directory";
}
