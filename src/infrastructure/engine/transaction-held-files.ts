import { lstatSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import type { Conflict } from "../../application/ports/jobs-transaction.ts";
import { type Identity, identifyAt } from "./entry-identity.ts";
import { walkFolder } from "./walk-folder.ts";
import type { Plan } from "./job-folder.ts";
import { fileKey, openForWriting, type WatchedFile, type WatchedFolder } from "./held-files.ts";
import {
  isSameEntry,
  outSlot,
  removesWholeFolder,
  rootOf,
  type Swap,
  type SwapStep,
  shownPath,
  staysInPlace,
} from "./turns.ts";

/** Files that another process has open for writing, and git state that a running git has locked. */
export function findHeldFiles(plan: Plan, workspace: string, turns: readonly SwapStep[]): Conflict[] {
  const held: Conflict[] = [];
  const absolute = ({ op }: SwapStep) => join(rootOf(plan, op), op.path);
  const planned = new Set(plan.ops.map((op) => join(rootOf(plan, op), op.path)));
  const devices = devicesOf(plan);
  const files = new Map<string, WatchedFile>();
  const folders: WatchedFolder[] = [];
  for (const turn of turns) {
    const { op, goes } = turn;
    const at = absolute(turn);
    if (goes?.kind === "file" && !staysInPlace(op))
      files.set(fileKey({ dev: devices(op.root), ino: goes.ino }), { at, told: at });
    else if (removesWholeFolder(turn)) folders.push(watchFolder(at, at));
    if (op.area === "git" && !planned.has(`${at}.lock`) && pathExists(`${at}.lock`))
      held.push({ path: shownPath(plan, op, workspace), reason: "open", by: "git" });
  }
  for (const { path, process } of openForWriting({ files, folders }))
    pushOnce(held, { path: relative(workspace, path), reason: "open", by: process });
  return held;
}

/**
 * Who wrote to what has just been moved out, or holds it open: opened between the check and the rename, a file goes on
 * being written in its slot, and its writer does not know. `kept` is what lies in the slots.
 */
export function lateWriters(
  { folder, plan, direction, turns }: Swap,
  workspace: string,
  kept: ReadonlyMap<number, Identity | null>,
  since: bigint,
): Conflict[] {
  const late: Conflict[] = [];
  const devices = devicesOf(plan);
  const files = new Map<string, WatchedFile>();
  const folders: WatchedFolder[] = [];
  for (const turn of turns) {
    const { op, goes } = turn;
    const out = kept.get(op.n) ?? null;
    if (out === null || staysInPlace(op)) continue;
    const path = join(rootOf(plan, op), op.path);
    const slot = outSlot(folder, op, direction);
    if (goes?.kind === "file") {
      if (!isSameEntry(out, goes)) late.push({ path: relative(workspace, path), reason: "changed" });
      else files.set(fileKey({ dev: devices(op.root), ino: out.ino }), { at: slot, told: path });
    } else if (removesWholeFolder(turn)) {
      if (isTouchedSince(slot, since)) late.push({ path: relative(workspace, path), reason: "changed" });
      folders.push(watchFolder(slot, path));
    }
  }
  for (const { path, process } of openForWriting({ files, folders }))
    pushOnce(late, { path: relative(workspace, path), reason: "open", by: process });
  return late;
}

/** One process is enough to name for a path. */
function pushOnce(conflicts: Conflict[], conflict: Conflict): void {
  if (!conflicts.some(({ path, reason }) => path === conflict.path && reason === conflict.reason))
    conflicts.push(conflict);
}

export function readKeptEntries({ folder, plan, direction }: Swap): Map<number, Identity | null> {
  return new Map(
    plan.ops.map((op) => [op.n, staysInPlace(op) ? null : identifyAt(outSlot(folder, op, direction))]),
  );
}

/** Whether anything in a folder was touched since; a rename of the folder itself does not count. */
export function isTouchedSince(folder: string, since: bigint): boolean {
  let noisy = false;
  const entries = walkFolder(folder, {
    noText: true,
    unreadable: () => {
      noisy = true;
    },
  });
  for (const { stats } of entries) noisy ||= stats.ctimeNs >= since;
  return noisy;
}

function watchFolder(at: string, told: string): WatchedFolder {
  let known: Map<string, string> | undefined;
  return {
    at,
    told,
    below() {
      known ??= new Map(
        [...walkFolder(at, { noText: true })].map(({ path, stats }) => [fileKey(stats), path]),
      );
      return known;
    },
  };
}

function devicesOf(plan: Plan): (root: number) => bigint {
  const known = new Map<number, bigint>();
  return (root) => {
    const device = known.get(root) ?? statSync(plan.roots[root] as string, { bigint: true }).dev;
    known.set(root, device);
    return device;
  };
}

function pathExists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
