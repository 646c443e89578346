import { chmodSync, chownSync } from "node:fs";
import { inFolder } from "./anchor.ts";
import { type Identity, identify, identifyAt, isAbsence } from "./entry-identity.ts";
import type { UnwritableFolder } from "./intent.ts";
import type { Plan } from "./job-folder.ts";
import { inSlot, isSameEntry, keepsFolder, outSlot, rootOf, type Swap, type SwapStep } from "./turns.ts";

/** A folder whose mode keeps its owner from changing what is in it. Root passes every door. */
function isUnwritable(folder: Identity): boolean {
  return (folder.mode & 0o300) !== 0o300 && process.getuid?.() !== 0;
}

/** The read-only folders around a swap's paths; those that take part themselves get their modes in the swap. */
export function findUnwritableFolders(plan: Plan, turns: readonly SwapStep[]): UnwritableFolder[] {
  if (process.getuid?.() === 0) return [];
  const doors: UnwritableFolder[] = [];
  const known = new Set(
    turns
      .filter(({ goes, comes }) => goes?.kind === "directory" || comes?.kind === "directory")
      .map(({ op }) => pathKey(op)),
  );
  for (const { op } of turns) {
    const slash = op.path.lastIndexOf("/");
    const parent = { root: op.root, path: slash < 0 ? "" : op.path.slice(0, slash) };
    if (known.has(pathKey(parent))) continue;
    known.add(pathKey(parent));
    const found = parent.path === "" ? identifyAt(rootOf(plan, op)) : identify(rootOf(plan, op), parent.path);
    if (found?.kind === "directory" && isUnwritable(found)) doors.push({ ...parent, mode: found.mode });
  }
  return doors;
}

function deepestFirst(x: SwapStep, y: SwapStep): number {
  return y.op.path.split("/").length - x.op.path.split("/").length;
}

function pathKey({ root, path }: { root: number; path: string }): string {
  return `${root}:${path}`;
}

export function unlockFolders({ plan, doors }: Swap): void {
  for (const { root, path, mode } of doors) changeMode(plan.roots[root] as string, path, mode | 0o700);
}

/** A folder that moves, or whose entries move, must be writable while they do. */
export function unlockSwapStep({ folder, plan, direction }: Swap, { op, goes, comes }: SwapStep): void {
  if (goes?.kind === "directory" && isUnwritable(goes)) {
    const standing = identify(rootOf(plan, op), op.path);
    if (standing?.ino === goes.ino) changeMode(rootOf(plan, op), op.path, goes.mode | 0o700);
  }
  if (comes?.kind !== "directory" || !isUnwritable(comes) || keepsFolder(op)) return;
  for (const slot of [inSlot(folder, op, direction), outSlot(folder, op, direction)])
    if (isSameEntry(identifyAt(slot), comes)) chmodSync(slot, comes.mode | 0o700);
}

/** What was opened is shut again, wherever it lies now, and folders that stay get their new mode and owner. */
export function restoreModes({ folder, plan, direction, turns, doors }: Swap): void {
  for (const { op, goes, comes } of [...turns].sort(deepestFirst)) {
    if (keepsFolder(op)) {
      if (goes !== null && comes !== null) giveFolder(rootOf(plan, op), op.path, goes, comes);
      continue;
    }
    for (const thing of [goes, comes]) {
      if (thing?.kind !== "directory" || !isUnwritable(thing)) continue;
      const standing = identify(rootOf(plan, op), op.path);
      if (isSameEntry(standing, thing)) changeMode(rootOf(plan, op), op.path, thing.mode);
      for (const slot of [inSlot(folder, op, direction), outSlot(folder, op, direction)])
        if (isSameEntry(identifyAt(slot), thing)) chmodSync(slot, thing.mode);
    }
  }
  for (const { root, path, mode } of doors) {
    try {
      changeMode(plan.roots[root] as string, path, mode);
    } catch (error) {
      if (!isAbsence(error)) throw error;
    }
  }
}

function giveFolder(root: string, path: string, goes: Identity, comes: Identity): void {
  inFolder(root, path, (self) => {
    if (process.getuid?.() === 0 && (goes.uid !== comes.uid || goes.gid !== comes.gid))
      chownSync(self, comes.uid, comes.gid);
    chmodSync(self, comes.mode);
  });
}

/** Changes a folder's mode, and only a folder's: a symlink in its place is an error. */
function changeMode(root: string, path: string, mode: number): void {
  inFolder(root, path, (self) => chmodSync(self, mode));
}
