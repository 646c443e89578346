import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import type { UntouchedPath } from "../../application/ports/jobs-transaction.ts";
import { createAnchors, inParent } from "./anchor.ts";
import { identifyAt, isAbsence } from "./entry-identity.ts";
import { restoreModes, unlockFolders, unlockSwapStep } from "./doors.ts";
import { giveMode } from "./give-mode.ts";
import type { Plan } from "./job-folder.ts";
import { exchange, moveIfFree } from "./move.ts";
import { SwapFailure } from "./swap-failure.ts";
import { inDepthOrder } from "./swap-order.ts";
import { inSlot, isSameEntry, outSlot, rootOf, type Swap, type SwapStep, staysInPlace } from "./turns.ts";

/** Called between the steps of a swap; a crash test stops the program there. */
export type Checkpoint = (point: string) => void;

/**
 * Exchanges the two sides of a plan: what stands in the workspace goes into its slot, the other side comes in.
 * Each step is a rename within one file system, and inode numbers tell how far a turn has come; so the same call
 * finishes a swap that was cut off, and the swap of the reversed turns takes back one that was begun.
 *   1. read-only folders are opened
 *   2. what only leaves goes out, deepest first
 *   3. what comes in (or replaces) goes in: folders first, then objects, files, refs, index
 *   4. git state and objects that only leave go last, so that no ref is ever without its object
 *   5. files of which only the mode differs get it where they stand
 *   6. folders get their modes
 */
export function runSwap(request: Swap, at: Checkpoint): UntouchedPath[] {
  const { plan } = request;
  const left: UntouchedPath[] = [];
  const { early, incoming, late } = inDepthOrder(request.turns);
  const attempt = (turn: SwapStep, point: string | null, act: () => void) => {
    try {
      act();
    } catch (error) {
      throw error instanceof SwapFailure
        ? error
        : new SwapFailure(`${rootOf(plan, turn.op)}/${turn.op.path}`, error);
    }
    if (point !== null) at(`${point} ${turn.op.n}`);
  };
  atFolders(plan, () => unlockFolders(request));
  for (const turn of request.turns) attempt(turn, null, () => unlockSwapStep(request, turn));
  at("opened");
  for (const turn of early) attempt(turn, "out", () => takeOut(request, turn, left));
  for (const turn of incoming) attempt(turn, "in", () => bringIn(request, turn, at));
  for (const turn of late) attempt(turn, "out", () => takeOut(request, turn, left));
  const anchors = createAnchors();
  try {
    for (const turn of request.turns)
      if (turn.op.inPlace === true) attempt(turn, "mode", () => giveMode(plan, turn, anchors));
  } finally {
    anchors.close();
  }
  atFolders(plan, () => restoreModes(request));
  at("modes");
  return left;
}

/** A folder on the way that is gone or not ours. */
function atFolders(plan: Plan, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw new SwapFailure(plan.roots[0] as string, error);
  }
}

/** Out of the workspace into the slot; put back when it turns out not to be what was checked. */
function takeOut({ folder, plan, direction }: Swap, { op, goes }: SwapStep, left: UntouchedPath[]): void {
  const slot = outSlot(folder, op, direction);
  if (identifyAt(slot) !== null) return;
  const path = `${rootOf(plan, op)}/${op.path}`;
  inParentIfThere(rootOf(plan, op), op.path, (parent, name) => {
    const here = `${parent}/${name}`;
    if (op.a === null && goes?.kind === "directory" && readdirSync(here).length > 0) {
      left.push({ path, reason: "not-empty" });
      return;
    }
    if (!isSameEntry(identifyAt(here), goes)) throw new SwapFailure(path);
    renameSync(here, slot);
    if (isSameEntry(identifyAt(slot), goes)) return;
    moveIfFree(slot, here);
    throw new SwapFailure(path);
  });
}

function bringIn({ folder, plan, direction }: Swap, turn: SwapStep, at: Checkpoint): void {
  const { op, goes, comes } = turn;
  if (staysInPlace(op)) return;
  const from = inSlot(folder, op, direction);
  const out = outSlot(folder, op, direction);
  const path = `${rootOf(plan, op)}/${op.path}`;
  makeParents(rootOf(plan, op), op.path);
  inParent(rootOf(plan, op), op.path, (parent, name) => {
    const here = `${parent}/${name}`;
    if (goes === null) {
      if (isSameEntry(identifyAt(from), comes) && !moveIfFree(from, here)) throw new SwapFailure(path);
      return;
    }
    const aside = identifyAt(out);
    if (isSameEntry(aside, comes)) {
      // An exchange that was cut off before its second step, seen from the other side.
      replaceEntry(out, here, out, turn, path);
      return;
    }
    if (aside === null) {
      let exchanged = false;
      if (isSameEntry(identifyAt(from), comes)) {
        exchanged = replaceEntry(from, here, out, turn, path);
        at(`exchange ${op.n}`);
      }
      if (exchanged || isSameEntry(identifyAt(from), goes)) renameSync(from, out);
    } else if (isSameEntry(identifyAt(from), comes) && !moveIfFree(from, here)) throw new SwapFailure(path);
  });
}

/** `from` and `here` change places; afterwards `from` (or, without that ability, `out`: false) holds what stood here. */
function replaceEntry(from: string, here: string, out: string, { goes }: SwapStep, path: string): boolean {
  if (!isSameEntry(identifyAt(here), goes)) throw new SwapFailure(path);
  if (exchange(from, here)) {
    if (isSameEntry(identifyAt(from), goes)) return true;
    exchange(from, here);
    throw new SwapFailure(path);
  }
  const aside = from === out ? `${out}.aside` : out;
  renameSync(here, aside);
  if (!isSameEntry(identifyAt(aside), goes)) {
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

/** For paths whose parent may have gone with a folder above. */
function inParentIfThere(root: string, path: string, use: (parent: string, name: string) => void): void {
  try {
    inParent(root, path, use);
  } catch (error) {
    if (!isAbsence(error)) throw error;
  }
}
