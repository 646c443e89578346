import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { join, relative } from "node:path";
import type { UntouchedPath } from "../../application/ports/jobs-transaction.ts";
import type { Conflict } from "../../domain/jobs/result.ts";
import { foldersAbove, parentOf } from "../../domain/platform/paths.ts";
import {
  type JobFolder,
  type Op,
  opSlotPath,
  type Plan,
  type SwapRecord,
  type UnwritableFolder,
  type WayFolder,
} from "../jobs/job-folder.ts";
import {
  Identity,
  identify,
  identifyAt,
  ifThere,
  isAbsence,
  shownBelow,
} from "../platform/entry-identity.ts";
import { fstatEntry } from "../platform/entry-stats.ts";
import { AT_FDCWD, renameExchange, renameNoReplace, renameQuickly } from "../platform/libc.ts";
import { inFolder, inParent, O_PATH } from "../platform/open-folder.ts";
import { openQuickly } from "../platform/read-file.ts";
import { createSweep } from "../platform/unattended.ts";
import { createBreath } from "./breath.ts";
import { isIndexFile } from "./compare-entries.ts";
import {
  type FoundPlace,
  SwapFailure,
  type SwapPlaces,
  type SwapStep,
  SYSTEM_REASONS,
} from "./swap-places.ts";

export type Direction = "forward" | "back";

/** Both sides of a plan, which change places. */
export interface Swap {
  readonly folder: JobFolder;
  readonly plan: Plan;
  readonly direction: Direction;
  readonly steps: readonly SwapStep[];
  readonly unwritable: readonly UnwritableFolder[];
  readonly places: SwapPlaces;
  /** Where entries are that were moved after the swap put them at their paths. */
  readonly strayed?: ReadonlyMap<number, FoundPlace>;
}

/** Runs `use` with the folder in which the entry of an op is, and its name there. */
function atEntry<T>({ plan, places, strayed }: Swap, op: Op, use: (parent: string, name: string) => T): T {
  const found = strayed?.get(op.n);
  return found === undefined
    ? places.inParent(rootOf(plan, op), op.path, use)
    : inParent(found.root, found.path, use);
}

/** The entry of an op, even if its folder was moved; null if the entry or the folder is gone. */
export function standingEntry(swap: Swap, op: Op): Identity | null {
  return ifThere(null, () => atEntry(swap, op, (parent, name) => identifyAt(`${parent}/${name}`)));
}

export function rootOf(plan: Plan, op: Op): string {
  return plan.roots[op.root] as string;
}

/** The path as the user knows it: relative to the workspace, even if the repository extends beyond it. */
export function shownPath(plan: Plan, op: Op, workspace: string): string {
  return shownBelow(workspace, rootOf(plan, op), op.path);
}

/** A folder that stays and only changes its mode or owner: no slot takes part. */
export function keepsFolder(op: Op): boolean {
  return op.a?.kind === "directory" && op.b?.kind === "directory";
}

export function staysInPlace(op: Op): boolean {
  return keepsFolder(op) || op.inPlace === true;
}

/** A folder that existed before the job and is removed with its contents. */
export function removesWholeFolder({ op, leaving, entering }: SwapStep): boolean {
  return leaving?.kind === "directory" && entering?.kind !== "directory" && op.a !== null;
}

export function inSlot(folder: JobFolder, op: Op, direction: Direction): string {
  return opSlotPath(folder, op.n, direction === "forward" ? "b" : "a");
}

export function outSlot(folder: JobFolder, op: Op, direction: Direction): string {
  return opSlotPath(folder, op.n, direction === "forward" ? "a" : "b");
}

/** The recorded state of an op: the plan before the first swap, then the result of the last swap. */
export function recordedStep(op: Op, direction: Direction, lastSwap: SwapRecord | null): SwapStep {
  const planned =
    direction === "forward" ? { leaving: op.a, entering: op.b } : { leaving: op.b, entering: op.a };
  if (lastSwap === null) return { op, ...planned };
  const left = lastSwap.entries.get(op.n);
  return {
    op,
    leaving: left?.standing ?? null,
    entering: staysInPlace(op) ? planned.entering : (left?.kept ?? null),
  };
}

/** The same for a job at rest: a folder that it made is found by its inode, because other jobs move it (see `shared-folders.ts`). */
export function recordedAtRest(
  folder: JobFolder,
  root: string,
  op: Op,
  direction: Direction,
  lastSwap: SwapRecord | null,
): SwapStep {
  const isMade = op.a === null && op.b?.kind === "directory" && direction === "forward" && lastSwap !== null;
  if (!isMade || op.b === null) return recordedStep(op, direction, lastSwap);
  const [slot, here] = [identifyAt(inSlot(folder, op, direction)), identifyAt(`${root}/${op.path}`)];
  if (slot?.isInodeOf(op.b)) return { op, leaving: null, entering: slot };
  return here?.isInodeOf(op.b)
    ? { op, leaving: here, entering: null }
    : recordedStep(op, direction, lastSwap);
}

/** An entry moved out is restored as it is now: a process that had it open may have continued writing. */
export function reverseStep({ op, leaving, entering }: SwapStep): SwapStep {
  return { op, leaving: entering, entering: leaving?.kind === "file" ? leaving.withAnyContents() : leaving };
}

export function oppositeDirection(direction: Direction): Direction {
  return direction === "forward" ? "back" : "forward";
}

/** Whether two entries are equal for a swap: the inode and, except for folders, the contents. */
export function isSameEntry(found: Identity | null, expected: Identity | null): boolean {
  if (found === null || expected === null) return found === expected;
  return found.hasContentsOf(expected);
}

export type FolderBase = Pick<WayFolder, "ino">;

export const NO_FOLDER: FolderBase = { ino: "0" };

export type BaseOf = (root: number, path: string) => FolderBase | null;

/** The folders above the changed paths, except those that the job made or removed itself. */
export function foldersOnTheWay(ops: readonly Op[], baseOf: BaseOf): WayFolder[] {
  const own = new Map(
    ops.filter(({ a, b }) => isFolder(a) || isFolder(b)).map((op) => [`${op.root}:${op.path}`, op]),
  );
  const folders = new Map<string, WayFolder | null>();
  const add = (root: number, path: string) => {
    const key = `${root}:${path}`;
    if (folders.has(key)) return;
    const op = own.get(key);
    const base = op === undefined || keepsFolder(op) ? baseOf(root, path) : null;
    folders.set(key, base === null ? null : { root, path, ino: base.ino });
  };
  let last = { root: -1, folder: "" };
  for (const op of ops) {
    const { root, path } = op;
    if (keepsFolder(op)) add(root, path);
    const folder = parentOf(path);
    if (last.root === root && last.folder === folder) continue;
    last = { root, folder };
    for (const above of foldersAbove(path)) add(root, above);
  }
  return [...folders.values()].filter((folder) => folder !== null);
}

/** Folders that were replaced or removed; of nested ones only the topmost. */
export function exchangedFolders({ roots, folders = [] }: Plan, workspace: string) {
  const found = new Map<string, Conflict>();
  const shallowFirst = [...folders].sort((x, y) => x.path.length - y.path.length);
  const isBelow = (root: number, path: string) =>
    foldersAbove(path).some((above) => found.has(`${root}:${above}`));
  for (const folder of shallowFirst) {
    if (isBelow(folder.root, folder.path)) continue;
    const root = roots[folder.root] as string;
    const reason = exchangeReason(root, folder);
    if (reason === null) continue;
    const path = relative(workspace, join(root, folder.path));
    found.set(`${folder.root}:${folder.path}`, { path, reason });
  }
  return {
    conflicts: [...found.values()],
    /** Whether a path is such a folder or is below one. */
    covers: ({ root, path }: Pick<Op, "root" | "path">) =>
      found.size > 0 && (found.has(`${root}:${path}`) || isBelow(root, path)),
  };
}

function exchangeReason(root: string, { path, ino }: WayFolder): Conflict["reason"] | null {
  try {
    return inParent(root, path, (parent, name) => {
      const now = identifyAt(`${parent}/${name}`);
      if (now === null) return "missing";
      return now.kind === "directory" && now.ino === ino ? null : "changed";
    });
  } catch (error) {
    if (isAbsence(error)) return "missing";
    return SYSTEM_REASONS[(error as { code?: string }).code ?? ""] ?? "changed";
  }
}

/** A child is removed before its folder and added after it; git state never refers to missing objects. */
function inDepthOrder(steps: readonly SwapStep[]) {
  const leaving = inOrder(
    steps.filter(({ entering }) => entering === null),
    ({ op }) => -depthOf(op.path),
  );
  const goingFolders = new Set(
    steps.filter(({ leaving }) => leaving?.kind === "directory").map(({ op }) => `${op.root}:${op.path}`),
  );
  const isLate = ({ op }: SwapStep) =>
    op.area !== "file" && !foldersAbove(op.path).some((above) => goingFolders.has(`${op.root}:${above}`));
  const incoming = steps.filter(({ entering }) => entering !== null);
  return {
    /** Only moved out, deepest first. */
    early: leaving.filter((step) => !isLate(step)),
    incoming: inOrder(incoming, (step) => rank(step) * DEEPEST + depthOf(step.op.path)),
    /** Only moved out, after everything else has been moved in. */
    late: inOrder(leaving.filter(isLate), ({ op }) => (op.area === "object" ? 1 : 0)),
  };
}

/** Longer than any path that the system opens. */
const DEEPEST = 10_000;

function depthOf(path: string): number {
  let depth = 1;
  for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) depth += 1;
  return depth;
}

/** A stable sort by a number with few distinct values. */
function inOrder(steps: readonly SwapStep[], numberOf: (step: SwapStep) => number): SwapStep[] {
  return [...Map.groupBy(steps, numberOf)].sort(([x], [y]) => x - y).flatMap(([, group]) => group);
}

const RANK = { object: 1, file: 2, git: 3 } as const;
const INDEX_RANK = 4;

function rank({ op, entering }: SwapStep): number {
  if (entering?.kind === "directory") return 0;
  return isIndexFile(op.path, op.area) ? INDEX_RANK : RANK[op.area];
}

/** Exchanges two names; false if the file system cannot do that in one step. */
function exchange(a: string, b: string): boolean {
  const done = renameExchange(AT_FDCWD, a, AT_FDCWD, b);
  if (done.ok) return true;
  if (done.reason === "unsupported" || CANNOT.has(done.code)) return false;
  throw Object.assign(new Error(`${done.code}: exchange '${a}' with '${b}'`), { code: done.code });
}

/** Moves to a free name only, so that a new file there is never overwritten. False if the name is taken. */
export function moveIfFree(from: string, to: string): boolean {
  const done = renameNoReplace(AT_FDCWD, from, AT_FDCWD, to);
  if (done.ok) return true;
  if (done.reason === "failed" && done.code === "EEXIST") return false;
  if (done.reason === "failed" && !CANNOT.has(done.code))
    throw Object.assign(new Error(`${done.code}: rename '${from}' to '${to}'`), { code: done.code });
  return moveByLink(from, to);
}

/** The errors of a file system or kernel without the flag. */
const CANNOT = new Set(["EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);

function moveByLink(from: string, to: string): boolean {
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) return false;
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    renameSync(from, to);
    return true;
  }
  unlinkSync(from);
  return true;
}

/** Names a file without opening it, so that its own mode does not matter; elsewhere it must be readable. */
const FILE = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Changes the mode of exactly the file that was checked and returns its new identity. Idempotent. */
function giveMode(swap: Swap, { op, leaving, entering }: SwapStep): Identity | null {
  const root = rootOf(swap.plan, op);
  if (entering === null) return null;
  return atEntry(swap, op, (parent, name) => {
    const { descriptor, isOpen } = openToChange(`${parent}/${name}`);
    try {
      const here = Identity.of(fstatEntry(descriptor));
      if (!isSameEntry(here, leaving)) throw new SwapFailure(`${root}/${op.path}`);
      if (here.mode === entering.mode) return here;
      if (isOpen) fchmodSync(descriptor, entering.mode);
      else chmodSync(`/proc/self/fd/${descriptor}`, entering.mode);
      return Identity.of(fstatEntry(descriptor));
    } finally {
      closeSync(descriptor);
    }
  });
}

/** Opened, its mode changes in a third of the time; a file that its own user may not read is only named. */
function openToChange(path: string): { readonly descriptor: number; readonly isOpen: boolean } {
  try {
    return { descriptor: openQuickly(path, FILE) ?? openSync(path, FILE), isOpen: true };
  } catch (error) {
    if (O_PATH === 0) throw error;
    return { descriptor: openSync(path, FILE | O_PATH), isOpen: false };
  }
}

/** A folder whose mode keeps its owner from changing its entries. Root is never kept. */
function isUnwritable(folder: Identity): boolean {
  return (folder.mode & 0o300) !== 0o300 && process.getuid?.() !== 0;
}

/** The read-only folders around a swap's paths; those that take part themselves get their modes in the swap. */
export function findUnwritableFolders(plan: Plan, steps: readonly SwapStep[]): UnwritableFolder[] {
  if (process.getuid?.() === 0) return [];
  const unwritable: UnwritableFolder[] = [];
  const known = new Set(
    steps
      .filter(({ leaving, entering }) => isFolder(leaving) || isFolder(entering))
      .map(({ op }) => pathKey(op)),
  );
  let last = { root: -1, path: "" };
  for (const { op } of steps) {
    const parent = { root: op.root, path: parentOf(op.path) };
    if (last.root === parent.root && last.path === parent.path) continue;
    last = parent;
    if (known.has(pathKey(parent))) continue;
    known.add(pathKey(parent));
    const found = parent.path === "" ? identifyAt(rootOf(plan, op)) : identify(rootOf(plan, op), parent.path);
    if (found?.kind === "directory" && isUnwritable(found)) unwritable.push({ ...parent, mode: found.mode });
  }
  return unwritable;
}

function isFolder(entry: Identity | null): boolean {
  return entry?.kind === "directory";
}

function pathKey({ root, path }: { root: number; path: string }): string {
  return `${root}:${path}`;
}

function unlockFolders({ plan, unwritable, places }: Swap): void {
  for (const { root, path, mode } of unwritable)
    changeMode(places, plan.roots[root] as string, path, mode | 0o700);
}

/** A folder that moves, or whose entries move, must be writable while they do. */
function unlockSwapStep(swap: Swap, { op, leaving, entering }: SwapStep): void {
  const { folder, direction } = swap;
  if (leaving?.kind === "directory" && isUnwritable(leaving)) {
    if (standingEntry(swap, op)?.isInodeOf(leaving)) changeStandingMode(swap, op, leaving.mode | 0o700);
  }
  if (entering?.kind !== "directory" || !isUnwritable(entering) || keepsFolder(op)) return;
  for (const slot of [inSlot(folder, op, direction), outSlot(folder, op, direction)])
    if (isSameEntry(identifyAt(slot), entering)) chmodSync(slot, entering.mode | 0o700);
}

/** Restores the modes of folders that the swap had made writable, wherever they are now, and gives others their new mode and owner. */
function restoreModes(swap: Swap): void {
  const { folder, plan, direction, steps, unwritable, places } = swap;
  const folders = steps.filter(({ leaving, entering }) => isFolder(leaving) || isFolder(entering));
  for (const { op, leaving, entering } of folders.sort((x, y) => depthOf(y.op.path) - depthOf(x.op.path))) {
    if (keepsFolder(op)) {
      if (leaving !== null && entering !== null)
        giveFolder(places, rootOf(plan, op), op.path, leaving, entering);
      continue;
    }
    for (const thing of [leaving, entering]) {
      if (thing?.kind !== "directory" || !isUnwritable(thing)) continue;
      if (isSameEntry(standingEntry(swap, op), thing)) changeStandingMode(swap, op, thing.mode);
      for (const slot of [inSlot(folder, op, direction), outSlot(folder, op, direction)])
        if (isSameEntry(identifyAt(slot), thing)) chmodSync(slot, thing.mode);
    }
  }
  for (const { root, path, mode } of unwritable) {
    ifThere(undefined, () => changeMode(places, plan.roots[root] as string, path, mode));
  }
}

function giveFolder(
  places: SwapPlaces,
  root: string,
  path: string,
  leaving: Identity,
  entering: Identity,
): void {
  places.inFolder(root, path, (self) => {
    if (process.getuid?.() === 0 && (leaving.uid !== entering.uid || leaving.gid !== entering.gid))
      chownSync(self, entering.uid, entering.gid);
    chmodSync(self, entering.mode);
  });
}

/** Changes a folder's mode, and only a folder's: a symlink in its place is an error. */
function changeMode(places: Pick<SwapPlaces, "inFolder">, root: string, path: string, mode: number): void {
  places.inFolder(root, path, (self) => chmodSync(self, mode));
}

function changeStandingMode(swap: Swap, op: Op, mode: number): void {
  const found = swap.strayed?.get(op.n);
  if (found === undefined) changeMode(swap.places, rootOf(swap.plan, op), op.path, mode);
  else changeMode({ inFolder }, found.root, found.path, mode);
}

/** Called between the steps of a swap; a crash test stops the program there. */
export type Checkpoint = (point: string) => void;

/**
 * Exchanges the two sides of a plan: the entry in the workspace is moved into its slot, the other side is
 * moved in. Each step is a rename within one file system, and inode numbers show the progress of a swap step;
 * so the same call finishes an interrupted swap, and the swap of the reversed steps rolls it
 * back.
 *   1. read-only folders are opened
 *   2. entries that are only removed are moved out, deepest first
 *   3. added or replacing entries are moved in: folders first, then objects, files, refs, index
 *   4. git state and objects that are only removed are moved out last, so that no ref ever lacks its object
 *   5. files of which only the mode differs are changed in place
 *   6. folders get their modes
 * The event loop gets control at intervals. `isFirst`: the seal filled all slots, they have just been checked, and this swap
 * has not been started before.
 */
export async function runSwap(request: Swap, at: Checkpoint, isFirst = false) {
  const { plan, places } = request;
  const left: UntouchedPath[] = [];
  const given = new Map<number, Identity>();
  const inPlace = request.steps.filter(({ op }) => op.inPlace === true);
  const moving = inPlace.length === 0 ? request.steps : request.steps.filter(({ op }) => op.inPlace !== true);
  const { early, incoming, late } = inDepthOrder(moving);
  const attempt = (step: SwapStep, point: string | null, act: () => void) => {
    try {
      act();
    } catch (error) {
      throw error instanceof SwapFailure
        ? error
        : new SwapFailure(`${rootOf(plan, step.op)}/${step.op.path}`, error);
    }
    if (point !== null) at(`${point} ${step.op.n}`);
  };
  const breath = createBreath();
  const sweep = createSweep();
  const forEach = async (
    steps: readonly SwapStep[],
    point: string | null,
    act: (step: SwapStep) => void,
  ): Promise<void> => {
    for (const step of steps) {
      sweep();
      if (breath.isDue()) {
        places.close();
        await breath.take();
      }
      attempt(step, point, () => act(step));
    }
    places.close();
  };
  const takeOutOne = (step: SwapStep) => takeOut(request, step, left, isFirst);
  const give = (step: SwapStep) => {
    const entry = giveMode(request, step);
    if (entry !== null) given.set(step.op.n, entry);
  };
  try {
    atFolders(plan, () => unlockFolders(request));
    await forEach(moving, null, (step) => unlockSwapStep(request, step));
    at("opened");
    await forEach(early, "out", takeOutOne);
    await forEach(incoming, "in", (step) => bringIn(request, step, at, isFirst));
    await forEach(late, "out", takeOutOne);
    await forEach(inPlace, "mode", give);
    atFolders(plan, () => restoreModes(request));
  } catch (error) {
    places.release();
    throw error;
  }
  places.close();
  at("modes");
  return { left, given };
}

export type SwapResult = Awaited<ReturnType<typeof runSwap>>;

/** A folder of the path is gone or not ours. */
function atFolders(plan: Plan, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (error instanceof SwapFailure) throw error;
    throw new SwapFailure(plan.roots[0] as string, error);
  }
}

/** Moves an entry out of the workspace into its slot, and puts it back if it is not the one that was checked. */
function takeOut(swap: Swap, { op, leaving }: SwapStep, left: UntouchedPath[], isFirst: boolean): void {
  const { folder, plan, direction } = swap;
  const slot = outSlot(folder, op, direction);
  if (!isFirst && identifyAt(slot) !== null) return;
  const path = `${rootOf(plan, op)}/${op.path}`;
  atEntryIfThere(swap, op, (parent, name) => {
    const here = `${parent}/${name}`;
    if (op.a === null && leaving?.kind === "directory" && readdirSync(here).length > 0) {
      left.push({ path, reason: "not-empty" });
      return;
    }
    if (!isSameEntry(identifyAt(here), leaving)) throw new SwapFailure(path);
    renameQuickly(here, slot);
    if (isSameEntry(identifyAt(slot), leaving)) return;
    moveIfFree(slot, here);
    throw new SwapFailure(path);
  });
}

function bringIn(swap: Swap, step: SwapStep, at: Checkpoint, isFirst: boolean): void {
  const { folder, plan, direction, places } = swap;
  const { op, leaving, entering } = step;
  if (staysInPlace(op)) return;
  const from = inSlot(folder, op, direction);
  const out = outSlot(folder, op, direction);
  const path = `${rootOf(plan, op)}/${op.path}`;
  if (!places.holds(rootOf(plan, op), op.path) && !places.knows(rootOf(plan, op), op.path))
    makeParents(rootOf(plan, op), op.path);
  atEntry(swap, op, (parent, name) => {
    const here = `${parent}/${name}`;
    if (isFirst) {
      bringInFirst(from, here, out, step, path, () => at(`exchange ${op.n}`));
      return;
    }
    if (leaving === null) {
      if (isSameEntry(identifyAt(from), entering) && !moveIfFree(from, here)) throw new SwapFailure(path);
      return;
    }
    const aside = identifyAt(out);
    if (isSameEntry(aside, entering)) {
      // An exchange that was interrupted before its second step, seen from the other side.
      replaceEntry(out, here, out, step, path);
      return;
    }
    if (aside === null) {
      let exchanged = false;
      if (isSameEntry(identifyAt(from), entering)) {
        exchanged = replaceEntry(from, here, out, step, path);
        at(`exchange ${op.n}`);
      }
      if (exchanged || isSameEntry(identifyAt(from), leaving)) renameQuickly(from, out);
    } else if (isSameEntry(identifyAt(from), entering) && !moveIfFree(from, here))
      throw new SwapFailure(path);
  });
}

/** For a swap that was never started before: its slots hold the checked entries, and the slots of the other side are empty. */
function bringInFirst(
  from: string,
  here: string,
  out: string,
  step: SwapStep,
  path: string,
  onExchange: () => void,
): void {
  if (step.leaving === null) {
    if (!moveIfFree(from, here)) throw new SwapFailure(path);
    return;
  }
  const exchanged = replaceEntry(from, here, out, step, path);
  onExchange();
  if (exchanged) renameQuickly(from, out);
}

/** Exchanges `from` and `here`; afterwards `from` (or `out`, if the system cannot exchange: false) holds the old entry. */
function replaceEntry(from: string, here: string, out: string, { leaving }: SwapStep, path: string): boolean {
  if (!isSameEntry(identifyAt(here), leaving)) throw new SwapFailure(path);
  if (exchange(from, here)) {
    if (isSameEntry(identifyAt(from), leaving)) return true;
    exchange(from, here);
    throw new SwapFailure(path);
  }
  const aside = from === out ? `${out}.aside` : out;
  renameSync(here, aside);
  if (!isSameEntry(identifyAt(aside), leaving)) {
    moveIfFree(aside, here);
    throw new SwapFailure(path);
  }
  if (!moveIfFree(from, here)) throw new SwapFailure(path);
  if (aside !== out) renameSync(aside, out);
  return false;
}

function makeParents(root: string, path: string): void {
  const slash = path.lastIndexOf("/");
  if (slash < 0 || existsSync(`${root}/${path.slice(0, slash)}`)) return;
  const parts = path.split("/");
  for (let i = 1; i < parts.length; i++) {
    inParent(root, parts.slice(0, i).join("/"), (parent, name) => {
      if (identifyAt(`${parent}/${name}`) === null) mkdirSync(`${parent}/${name}`);
    });
  }
}

/** For paths whose parent may be gone because the swap itself moved a folder above it away. */
function atEntryIfThere(swap: Swap, op: Op, use: (parent: string, name: string) => void): void {
  try {
    atEntry(swap, op, use);
  } catch (error) {
    if (!isAbsence(error) || swap.places.stood(rootOf(swap.plan, op), op.path)) throw error;
  }
}
