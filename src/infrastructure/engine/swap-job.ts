import { renameSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { RepairedJob, SwapOutcome } from "../../application/ports/jobs-transaction.ts";
import type { Conflict, InterruptedFiles, KeptAside } from "../../domain/jobs/result.ts";
import { succeeds } from "../../domain/platform/error-text.ts";
import { foldersAbove, isInside } from "../../domain/platform/paths.ts";
import { findUnjudgedTogether } from "../jobs/git-places.ts";
import {
  addRepairMark,
  clearIntent,
  DamagedRecord,
  haltSwap,
  type Intent,
  ifSound,
  intentFile,
  type JobFolder,
  jobFolder,
  noteOrder,
  type Op,
  type OwnPlan,
  openSwapRecord,
  type Plan,
  planFile,
  readIntent,
  readOwnPlan,
  readPlan,
  readState,
  readSwapRecord,
  removeSwapRecord,
  type SwapRecord,
  swapRecordPath,
  takeStamp,
  takeSwapTime,
  toChanges,
  writeIntent,
  writePlan,
  writeState,
} from "../jobs/job-folder.ts";
import { type Identity, identify, identifyAt, isAbsence, sameUntouched } from "../platform/entry-identity.ts";
import { type Anchors, createAnchors, lacksDescriptors } from "../platform/open-folder.ts";
import { collectGarbage, createSweep } from "../platform/unattended.ts";
import { createBreath } from "./breath.ts";
import { checkSwap, isOutOfReach } from "./check-swap.ts";
import { lateWriters, readKeptEntries } from "./held-files.ts";
import { jobBytes } from "./job-quota.ts";
import { asidePath, findUnrestored, moveAside, toKeptAside } from "./kept-aside.ts";
import {
  addFolderTouches,
  createOwnTouches,
  type FoldersBefore,
  readFoldersAround,
  readStandingFolders,
  recallFolders,
  withoutPlanned,
} from "./own-touches.ts";
import { findHeldElsewhere, returnFolders } from "./shared-folders.ts";
import {
  type Checkpoint,
  type Direction,
  exchangedFolders,
  findUnwritableFolders,
  inSlot,
  isSameEntry,
  keepsFolder,
  oppositeDirection,
  outSlot,
  recordedStep,
  reverseStep,
  rootOf,
  runSwap,
  type Swap,
  type SwapResult,
  shownPath,
  standingEntry,
  staysInPlace,
} from "./swap.ts";
import {
  createFolderHandles,
  createSwapPlaces,
  type FoundPlace,
  SwapFailure,
  type SwapStep,
  SYSTEM_REASONS,
} from "./swap-places.ts";

/** A swap that was cut off, according to its intent and the record of the job. */
function interruptedSwap(folder: JobFolder, plan: Plan, intent: Intent): Swap {
  const direction: Direction = intent.direction === "undo" ? "back" : "forward";
  const lastSwap = readSwapRecord(folder, intent.turn - 1);
  const skip = new Set(intent.skip);
  const found = new Map(intent.found.map(([n, leaving, entering]) => [n, { leaving, entering }]));
  const steps = plan.ops
    .filter((op) => !skip.has(op.n))
    .map((op) => ({ ...recordedStep(op, direction, lastSwap), ...found.get(op.n) }));
  // If plan and intent differ, the folders of the intent count.
  const standing = intent.folders === undefined ? [] : [...(plan.folders ?? []), ...intent.folders];
  const places = createSwapPlaces({ folder, plan, steps, standing, seeks: true });
  const swap: Swap = { folder, plan, direction, steps, unwritable: intent.doors, places };
  return intent.taking_back === true ? reverseSwap(swap) : swap;
}

function reverseSwap(swap: Swap): Swap {
  return { ...swap, direction: oppositeDirection(swap.direction), steps: swap.steps.map(reverseStep) };
}

type EditedPaths = ReturnType<typeof findEditedPaths>;

/** Paths that match neither side of the swap: edited after it was interrupted. A rollback permits edits of unreached and restored paths. */
function findEditedPaths(swap: Swap, intent: Intent) {
  const takingBack = intent.taking_back === true;
  /** Entries of a swap being rolled back that were only moved. */
  const strayed = new Map<number, FoundPlace>();
  const settled = new Set<number>();
  const edited = swap.steps.filter((step) => {
    if (!isOther(swap, step)) return false;
    if (takingBack && isDone(swap, step)) {
      if (swap.places.isGone(rootOf(swap.plan, step.op), step.op.path)) settled.add(step.op.n);
      return false;
    }
    const found = takingBack ? findStrayed(swap, step) : null;
    if (found !== null) strayed.set(step.op.n, found);
    return found === null;
  });
  swap.places.close();
  const paths = edited.map(({ op }) => `${op.root}:${op.path}`);
  const touches = ({ op, leaving }: SwapStep) => {
    const own = `${op.root}:${op.path}`;
    return paths.some(
      (path) =>
        path === own ||
        own.startsWith(`${path}/`) ||
        (leaving?.kind === "directory" && path.startsWith(`${own}/`)),
    );
  };
  const touched = edited.length === 0 ? [] : swap.steps.filter(touches);
  return {
    /** The ops whose paths were edited since, and those that cannot be finished because of them. */
    ops: new Set([...touched.map(({ op }) => op.n), ...settled]),
    /** Those among them that the swap had not reached: they are left out of it. */
    left: new Set(touched.filter((step) => !isReached(swap, step)).map(({ op }) => op.n)),
    strayed,
  };
}

/** Where the unchanged entry is that the swap put at a path; null if the path is occupied. */
function findStrayed(swap: Swap, { op, leaving }: SwapStep): FoundPlace | null {
  if (leaving === null || staysInPlace(op) || standingEntry(swap, op) !== null) return null;
  const found = swap.places.findEntry(leaving);
  return found !== null && isSameEntry(identify(found.root, found.path), leaving) ? found : null;
}

/** Whether the swap had written its side before the path was edited. */
function isReached(swap: Swap, { op, leaving, entering }: SwapStep): boolean {
  const { folder, direction } = swap;
  if (staysInPlace(op)) return standingEntry(swap, op)?.mode === entering?.mode;
  const waiting = identifyAt(inSlot(folder, op, direction));
  if (leaving === null) return !isSameEntry(waiting, entering);
  return isSameEntry(identifyAt(outSlot(folder, op, direction)), leaving) || isSameEntry(waiting, leaving);
}

/** Finishes an exchange that was interrupted before its second step, at a path that is left alone: the old entry moves to its slot. */
function finishExchange({ folder, direction }: Swap, { op, leaving }: SwapStep): void {
  const [from, out] = [inSlot(folder, op, direction), outSlot(folder, op, direction)];
  if (leaving === null || staysInPlace(op) || identifyAt(out) !== null) return;
  if (isSameEntry(identifyAt(from), leaving)) renameSync(from, out);
}

function isDone({ folder, direction }: Swap, { op, leaving, entering }: SwapStep): boolean {
  const isWaiting = isSameEntry(identifyAt(inSlot(folder, op, direction)), entering);
  if (leaving === null) return !isWaiting;
  const isOut = isSameEntry(identifyAt(outSlot(folder, op, direction)), leaving);
  return isOut && (entering === null || !isWaiting);
}

function isOther(swap: Swap, { op, leaving, entering }: SwapStep): boolean {
  const { folder, direction } = swap;
  const here = standingEntry(swap, op);
  if (here === null && swap.places.isGone(rootOf(swap.plan, op), op.path)) return true;
  if (keepsFolder(op)) return here?.kind !== "directory";
  if (staysInPlace(op))
    return !isSameEntry(here, leaving) || (here?.mode !== leaving?.mode && here?.mode !== entering?.mode);
  const out = identifyAt(outSlot(folder, op, direction));
  const waiting = identifyAt(inSlot(folder, op, direction));
  if (leaving === null) return !isSameEntry(here, isSameEntry(waiting, entering) ? null : entering);
  if (entering === null) return !isSameEntry(here, isSameEntry(out, leaving) ? null : leaving);
  if (isSameEntry(out, entering)) return !isSameEntry(here, leaving);
  if (isSameEntry(out, leaving) && isSameEntry(waiting, entering)) return here !== null;
  return !isSameEntry(here, isSameEntry(out, leaving) || isSameEntry(waiting, leaving) ? entering : leaving);
}

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
  /** This process has just sealed the job, and no process has tried to commit it yet. */
  readonly isSealedNow?: boolean;
}

/** Checks, writes the intent, swaps, notes the current entries. Called under the lock. */
export async function swapJob(deps: SwapDeps, request: SwapRequest): Promise<SwapOutcome> {
  const { storage, workspace, at } = deps;
  const { folder, plan, force } = request;
  const direction: Direction = request.direction === "undo" ? "back" : "forward";
  const lastSwap = readSwapRecord(folder, request.turn);
  if (request.turn > 0 && lastSwap?.entries.size !== plan.ops.length)
    throw new DamagedRecord(lastSwap === null ? swapRecordPath(folder, request.turn) : planFile(folder));
  const own = createOwnTouches({ storage, workspace, folder, lastSwap });
  const checked = await checkSwap({ folder, plan, workspace, direction, lastSwap, own });
  const { conflicts, steps, left, gone, absent } = checked;
  if (gone.length > 0) return { status: "refused", reason: "data-gone", paths: gone };
  const held = lastSwap === null ? null : findHeldElsewhere(deps, { folder, plan, steps }, absent);
  const stopping = [
    ...conflicts.filter(({ reason }) => !force || isOutOfReach(reason)),
    ...(force ? [] : (held?.conflicts ?? [])),
  ];
  if (stopping.length > 0) return { status: "conflict", conflicts: uppermostConflicts(stopping) };
  const unjudged = findUnjudged({ folder, plan, direction, steps }, workspace);
  if (unjudged.length > 0) return { status: "conflict", conflicts: unjudged };
  const around = readFoldersAround(plan, steps);
  held?.bring(around);
  const standing = readStandingFolders(plan, steps, around);
  const intent = toIntent(request, { steps, lastSwap, standing, around });
  const handles = createFolderHandles();
  const placed = (seeks: boolean) => createSwapPlaces({ folder, plan, steps, standing, seeks, handles });
  const work: Swap = { folder, plan, direction, steps, unwritable: intent.doors, places: placed(false) };
  const isFirst = request.isSealedNow === true && lastSwap === null;
  const takeBack = (why: readonly Conflict[]) =>
    rollBackSwap(deps, { ...work, places: placed(true) }, intent, why)
      .finally(handles.close)
      .finally(() => returnFolders(deps, reverseSwap(work), new Map()));
  collectGarbage(steps.length);
  at("checked");
  try {
    writeIntent(storage, intent);
  } catch (error) {
    // Nothing was moved; an intent that is only not synced yet is removed.
    return succeeds(() => clearIntent(storage))
      ? { status: "conflict", conflicts: [faultConflict(deps, error)] }
      : cutOff(folder, workspace, systemError(error));
  }
  at("intent");
  let swapped: SwapResult;
  let kept: ReturnType<typeof readKeptEntries>;
  const late: Conflict[] = [];
  try {
    swapped = await runSwap(work, at, isFirst);
    at("swapped");
    collectGarbage(steps.length);
    kept = readKeptEntries(work);
    if (!force)
      late.push(...lateWriters(work, workspace, kept.entries, BigInt(lastSwap?.stamp ?? plan.stamp), own));
    if (lastSwap === null) late.push(...exchangedFolders(plan, workspace).conflicts);
  } catch (error) {
    if (lacksDescriptors(error)) handles.close();
    return takeBack([
      error instanceof SwapFailure ? toConflict(error, workspace) : faultConflict(deps, error),
    ]);
  }
  if (late.length > 0) return takeBack(late);
  const { entries: lying, bytes } = kept;
  handles.close();
  if (lastSwap !== null) returnFolders(deps, work, around);
  try {
    const slotBytes = isFirst && steps.length === plan.ops.length ? bytes : null;
    const { given } = swapped;
    await settleSwap(deps, work, intent, { left: new Set(), lying, around, lastSwap, given, slotBytes });
  } catch (error) {
    return cutOff(folder, workspace, systemError(error));
  }
  const ops = steps.map(({ op }) => op);
  return {
    status: "done",
    changes: toChanges(ops, plan.roots, workspace),
    left: [
      ...left,
      ...swapped.left.map((one) => ({ ...one, path: relative(workspace, one.path) })),
      ...(plan.lost ?? []).map((path) => ({ path, reason: "lost" as const })),
    ],
  };
}

/** The record with which another process can finish the swap or roll it back. */
function toIntent(
  { folder, plan, turn, direction }: SwapRequest,
  found: Pick<Swap, "steps"> & {
    readonly lastSwap: SwapRecord | null;
    readonly standing: ReturnType<typeof readStandingFolders>;
    readonly around: ReturnType<typeof readFoldersAround>;
  },
): Intent {
  const { steps, lastSwap, standing, around } = found;
  const active = new Set(steps.map(({ op }) => op.n));
  const isKnown = ({ op, leaving, entering }: SwapStep) => {
    const recorded = recordedStep(op, direction === "undo" ? "back" : "forward", lastSwap);
    return sameUntouched(leaving, recorded.leaving) && isSameEntry(entering, recorded.entering);
  };
  return {
    job_id: folder.id,
    direction,
    turn: turn + 1,
    skip: plan.ops.filter(({ n }) => !active.has(n)).map(({ n }) => n),
    found: steps
      .filter((step) => !isKnown(step))
      .map(({ op, leaving, entering }) => [op.n, leaving, entering] as const),
    doors: findUnwritableFolders(plan, steps),
    folders: withoutPlanned(standing, plan),
    around: [...around].map(([path, found]) => [path, found && { ino: found.ino, ctime: found.ctime }]),
  };
}

/** Conflicts without those below a folder that is itself in conflict. */
function uppermostConflicts(conflicts: readonly Conflict[]): Conflict[] {
  const paths = new Set(conflicts.map(({ path }) => path));
  return conflicts.filter(({ path }) => !foldersAbove(path).some((above) => paths.has(above)));
}

/** A system error that names the path at which it occurred. */
function faultConflict({ storage, workspace }: SwapDeps, error: unknown): Conflict {
  const { code, path } = systemError(error);
  const at = path ?? storage;
  return {
    path: isInside(workspace, at) ? relative(workspace, at) : at,
    reason: SYSTEM_REASONS[code] ?? "no-access",
  };
}

/** The files were moved, but the record could not be written: a repair continues from the intent. */
function cutOff(
  folder: JobFolder,
  workspace: string,
  { path, code }: SystemFault,
  why: readonly Conflict[] = [],
): SwapOutcome {
  const at = relative(workspace, path ?? folder.path);
  const cause = SYSTEM_REASONS[code];
  return {
    status: "conflict",
    conflicts: [
      ...why,
      ...(cause === undefined ? [] : [{ path: at, reason: cause }]),
      { path: at, reason: "interrupted", by: folder.id },
    ],
  };
}

/** Files that a swap would activate for git: `force` does not permit them. */
function findUnjudged(
  { folder, plan, direction, steps }: Pick<Swap, "folder" | "plan" | "direction" | "steps">,
  workspace: string,
): Conflict[] {
  return plan.roots.flatMap((root, index) => {
    const own = steps.filter(({ op }) => op.root === index);
    const coming = own.flatMap(({ op, leaving, entering }) => {
      if (entering === null) return [];
      const lies = staysInPlace(op) ? `${root}/${op.path}` : inSlot(folder, op, direction);
      return [{ path: op.path, isNew: leaving === null, lies }];
    });
    const going = own.flatMap(({ op, entering }) => (entering === null ? [op.path] : []));
    return findUnjudgedTogether({ root, coming, going, begin: BigInt(plan.stamp) }).map((path) => ({
      path: relative(workspace, `${root}/${path}`),
      reason: "unjudged" as const,
    }));
  });
}

/** Entries that still cannot be put back stay noted in the intent, for a repair. */
async function rollBackSwap(
  deps: SwapDeps,
  work: Swap,
  begun: Intent,
  why: readonly Conflict[],
): Promise<SwapOutcome> {
  const { storage, workspace, at } = deps;
  const intent: Intent = { ...begun, taking_back: true };
  try {
    writeIntent(storage, intent);
    at("taking back");
    const { left, aside } = await takeBackSwap(deps, reverseSwap(work), intent);
    const reported = new Set(why.map(({ path }) => path));
    const edited = left.filter((path) => !reported.has(path) && !aside?.paths.includes(path));
    return {
      status: "conflict",
      conflicts: [
        ...why,
        ...edited.map((path) => ({ path, reason: "changed" as const })),
        ...(aside?.paths ?? []).map((path) => ({
          path,
          reason: "kept-aside" as const,
          ...(aside && { by: aside.folder }),
        })),
      ],
    };
  } catch (error) {
    if (!(error instanceof SwapFailure)) return cutOff(work.folder, workspace, systemError(error), why);
    const { path } = toConflict(error, workspace);
    return { status: "conflict", conflicts: [...why, { path, reason: "interrupted", by: work.folder.id }] };
  }
}

/** How often paths that the user changes during a rollback are checked again. */
const TAKE_BACK_ATTEMPTS = 3;

/** Puts every moved entry back, even if the user has moved it since, and clears the intent. What cannot be put back is kept aside. */
async function takeBackSwap(
  deps: SwapDeps,
  work: Swap,
  intent: Intent,
): Promise<Pick<RepairedJob, "left" | "aside">> {
  const { storage, workspace } = deps;
  let edited = findEditedPaths(work, intent);
  for (let attempt = 1; ; attempt++) {
    try {
      await finishAround(deps, work, edited);
      break;
    } catch (error) {
      if (attempt === TAKE_BACK_ATTEMPTS || !(error instanceof SwapFailure)) throw error;
      work.places.forget();
      edited = findEditedPaths(work, intent);
    }
  }
  const left = leftPaths(work, edited, workspace);
  const moves = findUnrestored(storage, work, workspace);
  const aside = toKeptAside(storage, work.folder.id, moves);
  if (left.length > 0 || aside !== null) markRepair(work.folder, intent, left, aside);
  deps.at("aside");
  moveAside(moves);
  clearIntent(storage);
  return { left, ...(aside !== null && { aside }) };
}

function leftPaths(work: Swap, edited: EditedPaths, workspace: string): string[] {
  return work.steps
    .filter(({ op }) => edited.left.has(op.n) && op.area !== "object")
    .map(({ op }) => shownPath(work.plan, op, workspace))
    .sort();
}

/** A path that was saved at the last moment, or that the system does not allow us to rename; bugs are rethrown. */
function toConflict(error: unknown, workspace: string): Conflict {
  if (!(error instanceof SwapFailure)) throw error;
  if (error.cause !== undefined && typeof (error.cause as { code?: unknown }).code !== "string") throw error;
  const isChange = error.cause === undefined || isAbsence(error.cause);
  const { code = "" } = (error.cause ?? {}) as { code?: string };
  return {
    path: relative(workspace, error.path),
    reason: isChange ? "changed" : (SYSTEM_REASONS[code] ?? "no-access"),
  };
}

interface SystemFault {
  readonly code: string;
  readonly path?: string;
}

/** An error of the system; anything else is a bug and is rethrown. */
function systemError(error: unknown): SystemFault {
  if (typeof (error as { code?: unknown } | null)?.code !== "string") throw error;
  return error as SystemFault;
}

interface SwapLeftovers {
  /** Ops that the user had edited before they were reached: the current entry is the user's. */
  readonly left: ReadonlySet<number>;
  /** The content of the slots. */
  readonly lying: ReadonlyMap<number, Identity | null>;
  readonly around: FoldersBefore;
  readonly lastSwap: SwapRecord | null;
  /** The files of which the swap changed the mode, right after it; absent where it was cut off. */
  readonly given?: SwapResult["given"];
  /** The disk space of all slots; null or absent if unknown. */
  readonly slotBytes?: number | null;
}

/** After the last rename: writes the current entries and the new state, and removes the intent. */
async function settleSwap(
  deps: SwapDeps,
  work: Swap,
  intent: Intent,
  leftovers: SwapLeftovers,
): Promise<void> {
  const { left, lying, around, lastSwap, given, slotBytes = null } = leftovers;
  const { folder, plan } = work;
  const steps = new Map(work.steps.map((step) => [step.op.n, step]));
  const anchors = createAnchors();
  const breath = createBreath();
  const stamp = plan.ops.some(({ a, b }) => (a?.kind === "directory") !== (b?.kind === "directory"))
    ? takeStamp(`${folder.path}/stamp`)
    : 0n;
  const record = openSwapRecord(folder, intent.turn, {
    stamp: String(stamp),
    swaps: [...(lastSwap?.swaps ?? []), takeSwapTime(deps.storage, deps.now())],
    around: addFolderTouches(lastSwap?.around ?? [], around),
    roots: plan.roots,
    workspace: plan.workspace,
  });
  const sweep = createSweep();
  for (const op of plan.ops) {
    sweep();
    if (breath.isDue()) {
      anchors.close();
      await breath.take();
    }
    const step = steps.get(op.n);
    const kept = lying.get(op.n) ?? null;
    const standing = left.has(op.n)
      ? (step?.leaving ?? null)
      : (given?.get(op.n) ?? currentEntryAt(plan, op, step, anchors));
    record.add(op, { standing, kept });
  }
  anchors.close();
  record.finish();
  deps.at("stands");
  noteOrder(deps.storage, folder.id);
  writeState(folder, {
    state: intent.direction === "undo" ? "undone" : "committed",
    at: deps.now().toISOString(),
    bytes: jobBytes(folder, slotBytes),
    turn: intent.turn,
  });
  deps.at("state");
  clearIntent(deps.storage);
  deps.at("cleared");
  removeSwapRecord(folder, intent.turn - 1);
}

/** The entry that PicoClaw put there: a later swap must detect what other processes wrote since. */
function currentEntryAt(plan: Plan, op: Op, step: SwapStep | undefined, anchors: Anchors): Identity | null {
  let now: Identity | null = null;
  try {
    now = identify(rootOf(plan, op), op.path, anchors);
  } catch {
    return step?.entering ?? null;
  }
  if (step === undefined || keepsFolder(op) || step.entering === null) return now;
  return isSameEntry(now, step.entering) ? now : step.entering;
}

export function foreignRootConflict(
  { root }: Extract<OwnPlan, { status: "foreign" }>,
  workspace: string,
): Conflict {
  return { path: relative(workspace, root), reason: "no-access" };
}

/** The damaged file is kept beside it; null if no job was being swapped. */
async function rebuildIntent(storage: string, workspace: string): Promise<Intent | null> {
  const { intentFromSlots } = await import("./damaged-records.ts");
  const intent = intentFromSlots(storage, workspace);
  renameSync(intentFile(storage), `${intentFile(storage)}.damaged`);
  if (intent !== null) writeIntent(storage, intent);
  return intent;
}

/** Finishes the swap of an intent around entries that were edited since. Called under the lock; null when there is no intent. */
export async function finishInterrupted(deps: SwapDeps): Promise<RepairedJob | null> {
  const { storage, workspace } = deps;
  const read = readIntent(storage);
  if (read === null) return null;
  const intent = read === "damaged" ? await rebuildIntent(storage, workspace) : read;
  if (intent === null) return null;
  const { job_id: jobId, direction } = intent;
  const folder = jobFolder(storage, jobId);
  const { readOrRebuild, whyUnreadable } = await import("./damaged-records.ts");
  const own = readOrRebuild(folder, workspace, () => readOwnPlan(folder, workspace));
  const stuck = (conflict: Conflict): RepairedJob => ({
    jobId,
    direction,
    outcome: "stuck",
    conflicts: [conflict],
    left: [],
  });
  // Without the plan no slot has a path: the slots stay as they are, and other jobs can run.
  const setAside = (file: string) => {
    const why = whyUnreadable(file);
    if (why === "closed") return stuck({ path: file, reason: "no-access" });
    haltSwap(storage, folder);
    return stuck({ path: file, reason: why ?? "damaged" });
  };
  if (own === null) return setAside(planFile(folder));
  if (own.status === "foreign") return stuck(foreignRootConflict(own, workspace));
  if (own.status === "none" || readState(folder)?.turn === intent.turn) {
    if (own.status === "own") markRepair(folder, intent, []);
    clearIntent(storage);
    return { jobId, direction, outcome: "finished", conflicts: [], left: [] };
  }
  const work = readOrRebuild(folder, workspace, () => interruptedSwap(folder, own.plan, intent));
  if (work === null) return setAside(swapRecordPath(folder, intent.turn - 1));
  try {
    if (intent.taking_back === true) {
      const { left, aside } = await takeBackSwap(deps, work, intent);
      if (left.length === 0 && aside === undefined) markRepair(folder, intent, []);
      return { jobId, direction, outcome: "taken-back", conflicts: [], left, ...(aside && { aside }) };
    }
    const edited = findEditedPaths(work, intent);
    const around = recallFolders(intent.around, readFoldersAround(work.plan, work.steps), (within) =>
      findMovedEntries(work, within),
    );
    await finishAround(deps, work, edited);
    if (intent.turn > 1) returnFolders(deps, work, around);
    const left = leftPaths(work, edited, workspace);
    markRepair(folder, intent, left);
    await settleSwap(deps, dropLeftOps(work, intent, edited), intent, {
      left: edited.left,
      lying: readKeptEntries(work).entries,
      around,
      lastSwap: readSwapRecord(folder, intent.turn - 1),
    });
    return { jobId, direction, outcome: "finished", conflicts: [], left };
  } catch (error) {
    if (error instanceof SwapFailure) return stuck(toConflict(error, workspace));
    const path = relative(workspace, systemError(error).path ?? folder.path);
    return stuck({ path, reason: "interrupted" });
  }
}

/** Which side each file of an interrupted swap is on. Changes nothing; null if the job's record cannot be read. */
export function readInterruptedFiles(
  storage: string,
  workspace: string,
  { taking_back: _, ...begun }: Intent,
): InterruptedFiles | null {
  const folder = jobFolder(storage, begun.job_id);
  const own = ifSound(() => readOwnPlan(folder, workspace));
  const swap = own?.status === "own" ? ifSound(() => interruptedSwap(folder, own.plan, begun)) : null;
  if (swap === null) return null;
  const [was, becomes] =
    begun.direction === "undo" ? (["after", "before"] as const) : (["before", "after"] as const);
  const files = { before: [] as string[], after: [] as string[], edited: [] as string[] };
  const moved: { readonly path: string; readonly at: string | null }[] = [];
  for (const step of swap.steps) {
    if (step.op.area === "object") continue;
    const path = shownPath(swap.plan, step.op, workspace);
    const side = readStandingSide(swap, step);
    if (side === "neither") moved.push({ path, at: findOriginal(storage, swap, step) });
    else files[side === "leaving" ? was : side === "entering" ? becomes : "edited"].push(path);
  }
  swap.places.close();
  for (const list of [files.before, files.after, files.edited]) list.sort();
  return { ...files, moved: moved.sort((x, y) => (x.path < y.path ? -1 : 1)) };
}

function readStandingSide(
  swap: Swap,
  { op, leaving, entering }: SwapStep,
): "leaving" | "entering" | "neither" | "other" {
  const here = standingEntry(swap, op);
  if (staysInPlace(op)) {
    if (here === null || here.ino !== leaving?.ino) return "other";
    return here.mode === leaving.mode ? "leaving" : here.mode === entering?.mode ? "entering" : "other";
  }
  if (isSameEntry(here, leaving)) return "leaving";
  if (isSameEntry(here, entering)) return "entering";
  return here === null ? "neither" : "other";
}

/** The file from before the job: in the slot in which the interrupted swap left it, or among the originals kept aside. */
function findOriginal(
  storage: string,
  { folder, direction }: Swap,
  { op, leaving, entering }: SwapStep,
): string | null {
  const original = direction === "forward" ? leaving : entering;
  const slots = [outSlot(folder, op, direction), inSlot(folder, op, direction)];
  const places = [...slots, ...slots.map((slot) => `${slot}.aside`), asidePath(storage, folder.id, op)];
  return places.find((place) => isSameEntry(identifyAt(place), original)) ?? null;
}

/** The entries that a swap has moved into a folder, or out of it, so far. */
function findMovedEntries(swap: Swap, within: string): Identity[] {
  return swap.steps
    .filter(({ op }) => dirname(join(rootOf(swap.plan, op), op.path)) === within)
    .flatMap(({ op, leaving, entering }) => {
      const [out, here] = [identifyAt(outSlot(swap.folder, op, swap.direction)), standingEntry(swap, op)];
      return [
        ...(leaving !== null && isSameEntry(out, leaving) ? [out] : []),
        ...(entering !== null && isSameEntry(here, entering) ? [here] : []),
      ];
    })
    .filter((entry) => entry !== null);
}

async function finishAround({ at }: SwapDeps, work: Swap, edited: EditedPaths): Promise<void> {
  for (const step of work.steps) if (edited.ops.has(step.op.n)) finishExchange(work, step);
  const { strayed } = edited;
  await runSwap({ ...work, strayed, steps: work.steps.filter(({ op }) => !edited.ops.has(op.n)) }, at);
}

/** A path that the commit left out is not part of the job: no undo, redo or diff of the job may name it. */
function dropLeftOps(work: Swap, { direction }: Intent, { left }: EditedPaths): Swap {
  if (direction !== "commit" || left.size === 0) return work;
  const without = (plan: Plan): Plan => ({ ...plan, ops: plan.ops.filter(({ n }) => !left.has(n)) });
  // The plan as written: the roots of `work` are the current ones.
  const written = readPlan(work.folder);
  if (written !== null) writePlan(work.folder, without(written));
  return { ...work, plan: without(work.plan) };
}

function markRepair(
  folder: JobFolder,
  intent: Intent,
  left: readonly string[],
  aside: KeptAside | null = null,
): void {
  const { direction, turn, taking_back: isTakenBack } = intent;
  addRepairMark(folder, {
    turn,
    direction,
    outcome: isTakenBack === true ? "taken-back" : "finished",
    left,
    ...(aside !== null && { aside }),
  });
}
