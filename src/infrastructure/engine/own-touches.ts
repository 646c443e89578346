import { dirname, join } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isInside, parentOf } from "../../domain/platform/paths.ts";
import {
  type FolderTouch,
  type Intent,
  ifSound,
  type JobFolder,
  jobFolder,
  listJobIds,
  type Plan,
  readOwnPlan,
  readSoundState,
  readSwapRecord,
  type SwapRecord,
  type WayFolder,
} from "../jobs/job-folder.ts";
import { type Identity, identifyAt } from "../platform/entry-identity.ts";
import { joinFolder } from "../platform/open-folder.ts";
import { keepsFolder, rootOf, staysInPlace } from "./swap.ts";
import type { SwapStep } from "./swap-places.ts";

/** Which entry it is, and when it was last touched. */
export type Touched = Pick<Identity, "kind" | "ino" | "ctime">;

/** Changes that swaps of other jobs made in the workspace since the last swap of this one. */
export interface OwnTouches {
  /** Whether only swaps touched an entry since a given time. */
  isOurs(entry: Touched, since: bigint): boolean;
  /** Whether they changed the entry at a path, below it or above it; a change that was undone does not count. */
  leftOther(path: string): boolean;
}

/** Before the first swap, or if the time of the last one is unknown, every touch counts as foreign. */
const NOTHING_OURS: OwnTouches = { isOurs: () => false, leftOther: () => true };

interface OwnTouchesRequest {
  readonly storage: string;
  readonly workspace: string;
  readonly folder: JobFolder;
  readonly lastSwap: SwapRecord | null;
}

/** Read when it is first asked for: mostly nothing was touched. */
export function createOwnTouches({ storage, workspace, folder, lastSwap }: OwnTouchesRequest): OwnTouches {
  const last = lastSwap?.swaps.at(-1);
  if (last === undefined) return NOTHING_OURS;
  let known: ReturnType<typeof readSwapsSince> | undefined;
  const read = () => {
    known ??= readSwapsSince(storage, workspace, folder.id, last);
    return known;
  };
  return {
    isOurs(entry, since) {
      const { moved, around, parents } = read();
      if (entry.kind !== "directory" || !parents.has(entry.ino)) return moved.has(touchKey(entry));
      // An entry that was removed from the folder shows only in the folder's time, and the next swap overwrites that.
      let ctime = entry.ctime;
      for (let steps = around.size; steps >= 0; steps--) {
        const touch = around.get(touchKey({ ino: entry.ino, ctime }));
        // If the chain ends with a swap that created the folder itself, there was no foreign touch in between.
        if (touch === undefined)
          return BigInt(ctime) < since || moved.has(touchKey({ ino: entry.ino, ctime }));
        if (touch.before === null) return true;
        ctime = touch.before;
      }
      return false;
    },
    leftOther: (path) => read().changed.some((one) => isInside(one, path) || isInside(path, one)),
  };
}

function readSwapsSince(storage: string, workspace: string, self: string, last: number) {
  /** The entries that they moved, by inode and the time of the move. */
  const moved = new Set<string>();
  /** The folders that they moved something in or out of, or gave another mode. */
  const around = new Map<string, FolderTouch>();
  const parents = new Set<string>();
  /** Paths that have the other side now. */
  const changed: string[] = [];
  for (const id of listJobIds(storage)) {
    const folder = jobFolder(storage, id);
    const state = id === self ? null : readSoundState(folder);
    const record = state === null ? null : ifSound(() => readSwapRecord(folder, state.turn));
    const count = record?.swaps.filter((at) => at >= last).length ?? 0;
    if (record === null || count === 0) continue;
    for (const { standing, kept } of record.entries.values())
      for (const entry of [standing, kept]) if (entry !== null) moved.add(touchKey(entry));
    for (const touch of record.around) {
      around.set(touchKey({ ino: touch.ino, ctime: touch.after }), touch);
      parents.add(touch.ino);
    }
    const own = count % 2 === 0 ? null : ifSound(() => readOwnPlan(folder, workspace));
    if (own?.status === "own")
      for (const op of own.plan.ops) changed.push(join(rootOf(own.plan, op), op.path));
  }
  return { moved, around, parents, changed };
}

export function touchKey({ ino, ctime }: Pick<Identity, "ino" | "ctime">): string {
  return `${ino}:${ctime}`;
}

/** The current state of the folders in which a swap moves entries or whose mode it changes. Roots are never moved. */
export function readFoldersAround(plan: Plan, steps: readonly SwapStep[]): Map<string, Identity | null> {
  const folders = new Map<string, Identity | null>();
  let last = { root: -1, around: "" };
  for (const { op } of steps) {
    const around = keepsFolder(op) ? op.path : staysInPlace(op) ? "." : dirname(op.path);
    if (around === "." || (last.root === op.root && last.around === around)) continue;
    last = { root: op.root, around };
    const path = join(rootOf(plan, op), around);
    if (!folders.has(path))
      folders.set(
        path,
        attemptOr(null, () => identifyAt(path)),
      );
  }
  return folders;
}

/** The state of the folders in which a swap moves entries or changes a mode, just before it; missing ones are left out. */
export function readStandingFolders(
  plan: Plan,
  steps: readonly SwapStep[],
  around: ReadonlyMap<string, Identity | null>,
): WayFolder[] {
  const standing = new Map<string, WayFolder>();
  const add = (root: number, path: string, found: () => Identity | null) => {
    const key = `${root}:${path}`;
    if (standing.has(key)) return;
    const folder = found();
    if (folder?.kind === "directory") standing.set(key, { root, path, ino: folder.ino });
  };
  let last = { root: -1, path: "" };
  for (const { op } of steps) {
    const { root } = op;
    const path = parentOf(op.path);
    const known = (folder: string) => () => {
      const absolute = joinFolder(rootOf(plan, op), folder);
      return folder === "" ? null : (around.get(absolute) ?? identifyAt(absolute));
    };
    if (keepsFolder(op)) add(root, op.path, known(op.path));
    if (last.root === root && last.path === path) continue;
    last = { root, path };
    add(root, path, known(path));
  }
  return [...standing.values()];
}

/** Those of which the plan says the same need not be written down again. */
export function withoutPlanned(standing: readonly WayFolder[], { folders = [] }: Plan): WayFolder[] {
  const planned = new Set(folders.map(({ root, path, ino }) => `${root}:${ino}:${path}`));
  return standing.filter(({ root, path, ino }) => !planned.has(`${root}:${ino}:${path}`));
}

/** Folders as a swap found them; one that is missing here was touched by others, or that is not known. */
export type FoldersBefore = Map<string, Pick<Identity, "ino" | "ctime"> | null>;

/** A rename sets the times of the entry and of its folder within one tick of the kernel's clock. */
const TICK_NS = 20_000_000n;

/** The folders around a swap that was cut off, as they were before it, as far as only the swap's moves have touched them since. */
export function recallFolders(
  around: Intent["around"],
  now: ReadonlyMap<string, Identity | null>,
  movedIn: (folder: string) => readonly Identity[],
): FoldersBefore {
  const isOwnTouch = (path: string, ctime: bigint) =>
    movedIn(path).some((entry) => {
      const apart = ctime - BigInt(entry.ctime);
      return -TICK_NS < apart && apart < TICK_NS;
    });
  return new Map(
    around?.filter(([path, was]) => {
      const found = now.get(path) ?? null;
      if (found === null || (was?.ino === found.ino && was.ctime === found.ctime)) return true;
      return isOwnTouch(path, BigInt(found.ctime));
    }),
  );
}

/** Touches beyond this number count as foreign. */
const KEPT_TOUCHES = 20_000;

/** With those of the job's earlier swaps: touches of several jobs lead from one to the other. */
export function addFolderTouches(earlier: readonly FolderTouch[], before: FoldersBefore): FolderTouch[] {
  const touches = [...earlier];
  for (const [path, was] of before) {
    const now = attemptOr(null, () => identifyAt(path));
    if (now === null) continue;
    const isSame = was?.ino === now.ino;
    if (!isSame || was?.ctime !== now.ctime)
      touches.push({ ino: now.ino, before: isSame ? (was?.ctime ?? null) : null, after: now.ctime });
  }
  return touches.slice(-KEPT_TOUCHES);
}
