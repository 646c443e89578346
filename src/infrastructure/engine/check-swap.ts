import { join } from "node:path";
import type { UntouchedPath } from "../../application/ports/jobs-transaction.ts";
import { type Conflict, isSystemTrouble } from "../../domain/jobs/result.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { parentOf } from "../../domain/platform/paths.ts";
import type { JobFolder, Op, Plan, SwapRecord } from "../jobs/job-folder.ts";
import {
  type Identity,
  identify,
  identifyAt,
  isAbsence,
  sameBody,
  sameUntouched,
} from "../platform/entry-identity.ts";
import { lstatEntry } from "../platform/entry-stats.ts";
import {
  type Anchors,
  createAnchors,
  inFolder,
  inParent,
  lacksDescriptors,
} from "../platform/open-folder.ts";
import { createSweep } from "../platform/unattended.ts";
import { createBreath } from "./breath.ts";
import { hashAt, isIndexFile } from "./compare-entries.ts";
import { findHeldFiles, whoTouchedSince } from "./held-files.ts";
import type { OwnTouches, Touched } from "./own-touches.ts";
import {
  type Direction,
  exchangedFolders,
  inSlot,
  keepsFolder,
  outSlot,
  recordedAtRest,
  rootOf,
  shownPath,
  staysInPlace,
} from "./swap.ts";
import { type SwapStep, SYSTEM_REASONS } from "./swap-places.ts";

interface CheckRequest {
  readonly folder: JobFolder;
  readonly plan: Plan;
  readonly workspace: string;
  readonly direction: Direction;
  readonly lastSwap: SwapRecord | null;
  readonly own: OwnTouches;
}

/** Looks at every path of a plan before anything is moved. */
export async function checkSwap(request: CheckRequest) {
  const { folder, plan, workspace, direction, lastSwap } = request;
  const shown = (op: Op) => shownPath(plan, op, workspace);
  const conflicts: Conflict[] = [];
  /** The steps to do, with the entry found at each path and in each slot. */
  const steps: SwapStep[] = [];
  const left: UntouchedPath[] = [];
  /** Paths whose recorded other side is missing from its slot. */
  const gone: string[] = [];
  /** Files and folders to be moved out that do not exist. */
  const absent: SwapStep[] = [];
  const anchors = createAnchors();
  const breath = createBreath();
  const parents = createKnownParents();
  // Once a job is in effect, only its own entries show whether the user has changed them since.
  const exchanged = lastSwap === null ? exchangedFolders(plan, workspace) : null;
  conflicts.push(...(exchanged?.conflicts ?? []));
  const sweep = createSweep();
  for (const op of plan.ops) {
    sweep();
    if (exchanged?.covers(op)) continue;
    if (breath.isDue()) {
      anchors.close();
      parents.forget();
      await breath.take();
    }
    const recorded = recordedAtRest(folder, rootOf(plan, op), op, direction, lastSwap);
    const seen = lookAtOp(request, recorded, anchors, parents);
    // An entry that is as recorded is kept once: a job may have a hundred thousand.
    const step = {
      op,
      leaving: sameUntouched(seen.current, recorded.leaving) ? recorded.leaving : seen.current,
      entering: findEntering(folder, recorded, direction),
    };
    if (lastSwap === null && hasLostSide(step)) {
      conflicts.push({ path: shown(op), reason: "changed" });
      continue;
    }
    if (step.entering === null && recorded.entering !== null && op.area !== "object") {
      gone.push(shown(op));
      continue;
    }
    if (!isOutOfReach(seen.reason) && !hasWork(step, folder, direction)) {
      if (seen.current === null && recorded.leaving !== null && op.area === "file") absent.push(recorded);
      continue;
    }
    if (seen.reason === null) steps.push(step);
    else if (op.area === "git" && lastSwap !== null) left.push({ path: shown(op), reason: "moved-on" });
    else if (op.area !== "object") {
      conflicts.push({ path: shown(op), reason: seen.reason });
      if (canBeForced(step, seen.reason)) steps.push(step);
    }
  }
  anchors.close();
  return { conflicts: [...conflicts, ...findHeldFiles(plan, workspace, steps)], steps, left, gone, absent };
}

/** The current entry is unknown, so that force does not help. */
export function isOutOfReach(reason: Conflict["reason"] | null): boolean {
  return reason !== null && (reason === "parent-missing" || isSystemTrouble({ reason }));
}

function canBeForced({ op, leaving }: SwapStep, reason: Conflict["reason"]): boolean {
  if (isOutOfReach(reason)) return false;
  return !staysInPlace(op) || leaving?.kind === op.a?.kind;
}

function findEntering(folder: JobFolder, recorded: SwapStep, direction: Direction): Identity | null {
  if (staysInPlace(recorded.op)) return recorded.entering;
  const found = identifyAt(inSlot(folder, recorded.op, direction));
  return isSameBody(found, recorded.entering) ? recorded.entering : found;
}

/** The same entry, as far as a swap compares: a rename into the slot changes only the change time. */
function isSameBody(found: Identity | null, recorded: Identity | null): boolean {
  return found === null || recorded === null ? found === recorded : sameBody(found, recorded);
}

/** The job's own entry was moved with a folder of the user's when an earlier commit was undone. */
function hasLostSide({ op, entering }: SwapStep): boolean {
  return op.b !== null && entering === null && op.area !== "object" && !staysInPlace(op);
}

/** Whether an op has something to do: its slots show neither that it is done nor that the last swap left it alone. */
function hasWork({ op, leaving, entering }: SwapStep, folder: JobFolder, direction: Direction): boolean {
  if (staysInPlace(op)) return true;
  const incoming = direction === "forward" ? op.b : op.a;
  if (incoming !== null && entering !== null) return true;
  if (incoming !== null) return leaving !== null && wasForcedOverDeleted(op, folder, direction);
  if (op.area === "object" && direction === "back") return false;
  return leaving !== null && identifyAt(outSlot(folder, op, direction)) === null;
}

/** A swap that was forced over a file which the user had deleted filled no slot: the path becomes absent again. Git objects stay. */
function wasForcedOverDeleted(op: Op, folder: JobFolder, direction: Direction): boolean {
  return (
    op.area === "file" &&
    op.a !== null &&
    op.b !== null &&
    identifyAt(outSlot(folder, op, direction)) === null
  );
}

function lookAtOp(
  request: CheckRequest,
  { op, leaving: expected, entering }: SwapStep,
  anchors: Anchors,
  parents: KnownParents,
): { readonly current: Identity | null; readonly reason: Conflict["reason"] | null } {
  const root = rootOf(request.plan, op);
  let current: Identity | null = null;
  try {
    current = parents.lacks(root, op.path) ? null : identify(root, op.path, anchors);
    if (current === null && entering !== null && !parentsAreFolders(request, op, parents))
      return { current, reason: "parent-missing" };
  } catch (error) {
    const { code = "" } = error as { code?: string };
    return { current, reason: SYSTEM_REASONS[code] ?? "parent-missing" };
  }
  try {
    return { current, reason: differenceReason(request, op, current, expected) };
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    // The entry may go, or its folder be exchanged, while it is being looked at.
    return { current, reason: lacksDescriptors(error) ? "too-many-files" : "changed" };
  }
}

/** How the entry at a path differs from the expected one; null where it is that one, or has its content. */
function differenceReason(
  request: CheckRequest,
  op: Op,
  current: Identity | null,
  expected: Identity | null,
): Conflict["reason"] | null {
  const { plan, direction, own, lastSwap } = request;
  const root = rootOf(plan, op);
  if (current === null || expected === null) {
    if (current === expected) return null;
    return current === null ? "missing" : "exists";
  }
  if (expected.kind === "directory" && current.kind === "directory")
    return folderReason(request, op, current, expected);
  if (sameUntouched(current, expected)) return null;
  // Changing the mode in place would also change a hard link that was created since.
  const names = () => inParent(root, op.path, (parent, name) => lstatEntry(`${parent}/${name}`)?.nlink ?? 0);
  if (op.inPlace === true && lastSwap === null && names() > 1) return "changed";
  if (sameBody(current, expected) && own.isOurs(current, 0n)) return null;
  if (current.kind !== expected.kind || op.area === "object") return "changed";
  const hash = direction === "forward" ? op.aHash : op.bHash;
  const isIndex = isIndexFile(op.path, op.area);
  if (hash === undefined || (!isIndex && (current.mode !== expected.mode || current.size !== expected.size)))
    return "changed";
  const said = inParent(root, op.path, (parent, name) => hashAt(`${parent}/${name}`, current, isIndex));
  return said === hash ? null : "changed";
}

/** A folder that is removed with its contents must be unused; from a folder that the job created, only the job's entries leave. */
function folderReason(
  { plan, lastSwap, own }: CheckRequest,
  op: Op,
  current: Identity,
  expected: Identity,
): Conflict["reason"] | null {
  // A folder that the job made returns only the job's entries; a mode from another source is not the job's.
  if (keepsFolder(op) || op.a === null) return current.mode === expected.mode ? null : "changed";
  const root = rootOf(plan, op);
  const since = BigInt(lastSwap?.stamp ?? plan.stamp);
  const isOurs = (entry: Touched) => own.isOurs(entry, since);
  const isNoisy = BigInt(current.ctime) >= since;
  if (isNoisy && !(isOurs(current) && current.ino === expected.ino && current.mode === expected.mode))
    return "changed";
  const who = inFolder(root, op.path, (self) => whoTouchedSince(self, since, isOurs));
  if (who === "other") return "changed";
  return (isNoisy || who === "we") && own.leftOther(join(root, op.path)) ? "changed" : null;
}

/** The findings about the last folder: neighbours in a plan mostly share it. */
type KnownParents = ReturnType<typeof createKnownParents>;

function createKnownParents() {
  let last: { readonly folder: string; readonly isMissing: boolean } | null = null;
  return {
    /** The folder of which it is known that all above it are folders. */
    folder: null as { readonly root: number; readonly path: string } | null,
    /** Whether the parent folder of a path is missing, so that the path cannot exist either. */
    lacks(root: string, path: string): boolean {
      const slash = path.lastIndexOf("/");
      if (slash < 0) return false;
      const folder = `${root}/${path.slice(0, slash)}`;
      if (last?.folder !== folder) last = { folder, isMissing: isMissing(folder) };
      return last.isMissing;
    },
    forget() {
      last = null;
      this.folder = null;
    },
  };
}

function isMissing(path: string): boolean {
  return attemptOr(false, () => lstatEntry(path) === undefined);
}

/** False when a parent exists but is not a folder (a file, or a symlink that must not be followed). */
function parentsAreFolders(request: CheckRequest, { root, path }: Op, known: KnownParents): boolean {
  const folder = parentOf(path);
  if (known.folder?.root === root && known.folder.path === folder) return true;
  if (!areFolders(request, root, path)) return false;
  known.folder = { root, path: folder };
  return true;
}

function areFolders({ plan, direction }: CheckRequest, root: number, path: string): boolean {
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
