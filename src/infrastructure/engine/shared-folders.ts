import { existsSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Conflict } from "../../domain/jobs/result.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { parentOf } from "../../domain/platform/paths.ts";
import {
  ifSound,
  type JobFolder,
  jobFolder,
  listJobIds,
  opSlotPath,
  readOwnPlan,
  readSoundState,
} from "../jobs/job-folder.ts";
import { identifyAt, pathBelow } from "../platform/entry-identity.ts";
import { joinFolder } from "../platform/open-folder.ts";
import type { FoldersBefore } from "./own-touches.ts";
import { moveIfFree, rootOf, type Swap } from "./swap.ts";
import type { SwapStep } from "./swap-places.ts";

/**
 * Folders of one job that another needs. The undo of a job leaves a folder that it made while a file of another job is in it,
 * and a redo may need a folder that an undone job made. Such a folder belongs to the job that made it: it is moved out of that
 * job's slot where another job needs it, and back where the last one has gone. The folder's inode says which it is, so that no
 * record changes.
 */
interface Holder {
  readonly jobId: string;
  readonly slot: string;
  readonly state: "undone" | "committed";
  /** A folder that the job created, now in the slot or in the workspace. */
  readonly isMade: boolean;
  /** Of the entry that belongs in the slot. */
  readonly ino: string;
}

interface Place {
  readonly storage: string;
  readonly workspace: string;
}

/** The other jobs that keep the entry of one of these paths in a slot. All plans are read: called where an entry is missing. */
function findHolders({ storage, workspace }: Place, self: JobFolder, wanted: ReadonlySet<string>) {
  const holders = new Map<string, Holder[]>();
  for (const jobId of wanted.size === 0 ? [] : listJobIds(storage)) {
    const folder = jobFolder(storage, jobId);
    const state = jobId === self.id ? undefined : readSoundState(folder)?.state;
    if (state !== "undone" && state !== "committed") continue;
    const own = ifSound(() => readOwnPlan(folder, workspace));
    if (own?.status !== "own") continue;
    for (const op of own.plan.ops) {
      const [held, side] = state === "undone" ? ([op.b, "b"] as const) : ([op.a, "a"] as const);
      const path = joinFolder(rootOf(own.plan, op), op.path);
      if (held === null || !wanted.has(path)) continue;
      const isMade = state === "undone" && op.a === null && held.kind === "directory";
      const holder = { jobId, state, isMade, ino: held.ino, slot: opSlotPath(folder, op.n, side) };
      holders.set(path, [...(holders.get(path) ?? []), holder]);
    }
  }
  return holders;
}

/** A path and the folders above it, below its root. */
function* withAncestors(root: string, path: string): Generator<string> {
  for (let at = path; at !== ""; at = parentOf(at)) yield joinFolder(root, at);
}

/** The missing parent folders of incoming entries, topmost first. */
function findMissing({ plan, steps }: Pick<Swap, "plan" | "steps">): string[] {
  const own = new Set(
    steps.filter(({ entering }) => entering?.kind === "directory").map(({ op }) => `${op.root}:${op.path}`),
  );
  const missing = new Set<string>();
  let last = "";
  for (const { op, entering } of steps) {
    const root = rootOf(plan, op);
    const parent = joinFolder(root, parentOf(op.path));
    if (entering === null || parent === last) continue;
    last = parent;
    for (let path = parentOf(op.path); path !== ""; path = parentOf(path))
      if (!own.has(`${op.root}:${path}`) && !existsSync(`${root}/${path}`)) missing.add(`${root}/${path}`);
  }
  return [...missing].sort((x, y) => x.length - y.length);
}

/** A swap's entries and the folders around them in other jobs' slots. `absent`: steps whose leaving entry is not there. */
export function findHeldElsewhere(
  place: Place,
  swap: Pick<Swap, "folder" | "plan" | "steps">,
  absent: readonly SwapStep[],
) {
  const missing = findMissing(swap);
  const left = absent.flatMap(({ op, leaving }) =>
    leaving === null ? [] : [{ leaving, above: [...withAncestors(rootOf(swap.plan, op), op.path)] }],
  );
  const wanted = new Set([...missing, ...left.flatMap(({ above }) => above)]);
  const holders = findHolders(place, swap.folder, wanted);
  const lying = missing.flatMap((path) => {
    const holder = holders.get(path)?.find(({ slot, ino }) => identifyAt(slot)?.ino === ino);
    return holder === undefined ? [] : [{ path, ...holder }];
  });
  const moved = left.flatMap(({ leaving, above }) => {
    const path = above[0] as string;
    const isIn = (at: string, { slot }: Holder) =>
      identifyAt(`${slot}${path.slice(at.length)}`)?.ino === leaving.ino;
    const holder = above.flatMap((at) => holders.get(at)?.filter((one) => isIn(at, one)) ?? [])[0];
    return holder === undefined ? [] : [{ path, ...holder }];
  });
  return {
    /** Entries that another job moved away: it is to be undone, or redone, first. */
    conflicts: [...lying.filter(({ isMade }) => !isMade), ...moved].map(
      ({ path, jobId: by, state }): Conflict => ({
        path: pathBelow(place.workspace, path),
        reason: state === "committed" ? "undo-first" : "redo-first",
        by,
      }),
    ),
    /** Brings in the missing folders that undone jobs made; done before the swap. */
    bring(around: FoldersBefore) {
      for (const { path, slot, isMade } of lying) {
        if (!isMade || !existsSync(dirname(path))) continue;
        noteParent(around, path, swap.plan.roots);
        around.set(path, null);
        moveIfFree(slot, path);
      }
    },
  };
}

/** Puts folders that the swap has emptied, and that jobs which are undone had made, into the slots of those jobs. */
export function returnFolders(
  place: Place,
  { folder, plan, steps }: Pick<Swap, "folder" | "plan" | "steps">,
  around: FoldersBefore,
): void {
  const emptied = new Set<string>();
  for (const { op, entering } of steps)
    if (entering === null && op.path.includes("/"))
      emptied.add(joinFolder(rootOf(plan, op), parentOf(op.path)));
  const empty = [...emptied].filter(isEmptyFolder);
  if (empty.length === 0) return;
  const roots: ReadonlySet<string> = new Set(plan.roots);
  const wanted = new Set<string>();
  for (const path of empty)
    for (let at = path; !roots.has(at) && at !== dirname(at); at = dirname(at)) wanted.add(at);
  const holders = findHolders(place, folder, wanted);
  for (const path of [...wanted].sort((x, y) => y.length - x.length)) {
    const ino = identifyAt(path)?.ino;
    const slot = holders
      .get(path)
      ?.find((one) => one.isMade && one.ino === ino && !existsSync(one.slot))?.slot;
    if (slot === undefined || !isEmptyFolder(path)) continue;
    noteParent(around, path, plan.roots);
    // A file that is saved there in between is restored with its folder.
    if (moveIfFree(path, slot) && !isEmptyFolder(slot)) moveIfFree(slot, path);
  }
}

/** The folder that loses or receives an entry; the parents of roots never move. */
function noteParent(around: FoldersBefore, path: string, roots: readonly string[]): void {
  const parent = dirname(path);
  if (!around.has(parent) && !roots.includes(parent)) around.set(parent, identifyAt(parent));
}

function isEmptyFolder(path: string): boolean {
  return attemptOr(false, () => readdirSync(path).length === 0);
}
