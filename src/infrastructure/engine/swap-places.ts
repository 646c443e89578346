import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import type { Conflict } from "../../domain/jobs/result.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isInside, parentOf } from "../../domain/platform/paths.ts";
import { type JobFolder, type Op, opSlotPath, type Plan, type WayFolder } from "../jobs/job-folder.ts";
import { Identity, identifyAt, ifThere, isAbsence } from "../platform/entry-identity.ts";
import { fstatEntry } from "../platform/entry-stats.ts";
import {
  type Anchors,
  createAnchors,
  inFolder,
  joinFolder,
  O_PATH,
  openFolder,
} from "../platform/open-folder.ts";
import { walkFolder } from "../platform/walk-folder.ts";

/** A path that could not be swapped. Without a cause: it was changed between the check and the rename. */
export class SwapFailure extends Error {
  /** `path` is absolute. */
  constructor(
    readonly path: string,
    cause?: unknown,
  ) {
    super(cause === undefined ? `changed while it was being replaced: ${path}` : `${path}: ${cause}`, {
      cause,
    });
  }
}

/** Why the system refused to change a path, by its code; others are a folder that is missing, or a path that was changed. */
export const SYSTEM_REASONS: Readonly<Record<string, Conflict["reason"]>> = {
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EIO: "disk-error",
  EROFS: "read-only",
  EMFILE: "too-many-files",
  ENFILE: "too-many-files",
  EXDEV: "other-mount",
  EBUSY: "other-mount",
  EACCES: "no-access",
};

/**
 * Where the entries of a swap are. A new swap uses paths and stops if another folder has taken one of them. A rollback or a later
 * completion uses inodes: the user may have renamed a folder meanwhile, and the entries of the swap are still in it.
 */
export interface SwapPlaces extends Anchors {
  readonly inFolder: typeof inFolder;
  /** Whether the folder of a path existed when the swap began, and stays. */
  readonly stood: (root: string, path: string) => boolean;
  /** Whether it existed, or the swap itself adds or removes it: then it is never created again. */
  readonly knows: (root: string, path: string) => boolean;
  /** Whether such a folder is in no slot and is not found. */
  readonly isGone: (root: string, path: string) => boolean;
  /** Where an entry of the swap is now that is not at its path; null where it is in no root. */
  readonly findEntry: (entry: Identity) => FoundPlace | null;
  /** Entries that are not at their paths are searched for again. */
  readonly forget: () => void;
}

export interface FoundPlace {
  readonly root: string;
  readonly path: string;
}

/** The folders that a swap has had open, to find them again after a move. */
export type FolderHandles = ReturnType<typeof createFolderHandles>;

/** Most swaps have fewer folders; others are looked for. */
const KEPT_HANDLES = 128;
/** Below it no limit is asked for. */
const FEW_DESCRIPTORS = 12;

/** Half of the files that this process may have open are left to the rest of the swap. */
export function createFolderHandles() {
  const kept = new Map<string, number>();
  let most: number | null = null;
  const hasRoom = (descriptor: number) => {
    if (kept.size >= KEPT_HANDLES) return false;
    if (descriptor < FEW_DESCRIPTORS) return true;
    most ??= readFileLimit() / 2;
    return descriptor < most;
  };
  return {
    keep(descriptor: number) {
      const ino = inodeOf(descriptor);
      if (hasRoom(descriptor) && !kept.has(ino)) kept.set(ino, descriptor);
      else closeSync(descriptor);
    },
    /** A descriptor that the caller closes. */
    open(ino: string) {
      const descriptor = kept.get(ino);
      // A folder that was removed has no name any more, and takes none.
      if (descriptor === undefined || fstatSync(descriptor).nlink === 0) return null;
      return openSync(`/proc/self/fd/${descriptor}`, constants.O_DIRECTORY | O_PATH);
    },
    close() {
      for (const descriptor of kept.values()) closeSync(descriptor);
      kept.clear();
    },
  };
}

/** How many files this process may have open. */
function readFileLimit(): number {
  const limits = attemptOr("", () => readFileSync("/proc/self/limits", "utf8"));
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 0) || 2 * KEPT_HANDLES;
}

function inodeOf(descriptor: number): string {
  return Identity.of(fstatEntry(descriptor)).ino;
}

interface PlacesRequest {
  readonly folder: JobFolder;
  readonly plan: Plan;
  readonly steps: readonly SwapStep[];
  /** The folders in which it moves entries, in their state when it began. */
  readonly standing: readonly WayFolder[];
  /** Whether a folder that is not at its path is searched for by its inode; otherwise the swap ends. */
  readonly seeks: boolean;
  readonly handles?: FolderHandles;
}

export function createSwapPlaces(request: PlacesRequest): SwapPlaces {
  const { plan, steps, seeks, handles } = request;
  const standing = new Map(
    request.standing.map(({ root, path, ino }) => [joinFolder(plan.roots[root] as string, path), ino]),
  );
  const own = new Map<string, OwnFolder>();
  for (const { op, leaving, entering } of steps) {
    const folder = [leaving, entering].find((entry) => entry?.kind === "directory");
    const path = joinFolder(plan.roots[op.root] as string, op.path);
    const stays = op.a?.kind === "directory" && op.b?.kind === "directory";
    if (!folder || stays) continue;
    own.set(path, { ino: folder.ino, n: op.n });
    standing.delete(path);
  }
  let index: ReadonlyMap<string, FoundPlace> | undefined;
  const find = (ino: string) => {
    index ??= findInodes(request, new Set([...standing.values(), ...stepInodes(steps)]));
    return index.get(ino) ?? null;
  };
  const seek = (ino: string): number | null => {
    const handle = handles?.open(ino) ?? null;
    if (handle !== null) return handle;
    const found = find(ino);
    return found === null ? null : openIf(found.root, found.path, ino);
  };
  const open = (root: string, folder: string): number => {
    const path = joinFolder(root, folder);
    const made = own.get(path);
    const ino = standing.get(path) ?? made?.ino;
    if (ino === undefined) return openFolder(root, folder);
    const there = openIf(root, folder, ino);
    if (there !== null) return there;
    // A folder of the job that is in its slot is nowhere else.
    const isInSlot = made !== undefined && lies(request.folder, made);
    if (!seeks && !isInSlot) throw new SwapFailure(path);
    const found = isInSlot ? null : seek(ino);
    if (found === null) throw Object.assign(new Error(`ENOENT: the folder is gone: ${path}`), GONE);
    return found;
  };
  const anchors = createAnchors({
    open,
    ...(handles !== undefined && { leave: handles.keep }),
    ...(!seeks && {
      whenMoved: (folder: string) => {
        throw new SwapFailure(folder);
      },
    }),
  });
  return {
    ...anchors,
    inFolder: (root, path, use) =>
      process.platform === "linux"
        ? anchors.inParent(root, path === "" ? ANY_NAME : `${path}/${ANY_NAME}`, (self) => use(self))
        : inFolder(root, path, use),
    stood: (root, path) => standing.has(joinFolder(root, parentOf(path))),
    isGone(root, path) {
      const folder = joinFolder(root, parentOf(path));
      const made = own.get(folder);
      if (made === undefined ? !standing.has(folder) : lies(request.folder, made)) return false;
      return ifThere(true, () => anchors.inParent(root, path, () => false));
    },
    knows(root, path) {
      const folder = joinFolder(root, parentOf(path));
      return standing.has(folder) || own.has(folder);
    },
    findEntry: (entry) => (seeks ? find(entry.ino) : null),
    forget() {
      anchors.close();
      index = undefined;
    },
  };
}

interface OwnFolder {
  readonly ino: string;
  readonly n: number;
}

/** Of an entry that is not asked for. */
const ANY_NAME = "x";

const GONE = { code: "ENOENT" } as const;

function lies(folder: JobFolder, { ino, n }: OwnFolder): boolean {
  return (["a", "b"] as const).some((side) => identifyAt(opSlotPath(folder, n, side))?.ino === ino);
}

/** The folder at a path if it is that one. */
function openIf(root: string, folder: string, ino: string): number | null {
  try {
    const descriptor = openFolder(root, folder);
    if (inodeOf(descriptor) === ino) return descriptor;
    closeSync(descriptor);
  } catch (error) {
    if (!isAbsence(error)) throw error;
  }
  return null;
}

function* stepInodes(steps: readonly SwapStep[]): Generator<string> {
  for (const { leaving, entering } of steps)
    for (const entry of [leaving, entering]) if (entry !== null) yield entry.ino;
}

/** One walk through the roots, without PicoClaw's own storage. */
function findInodes({ folder, plan }: PlacesRequest, wanted: ReadonlySet<string>): Map<string, FoundPlace> {
  const found = new Map<string, FoundPlace>();
  const outermost = plan.roots.filter(
    (root) => !plan.roots.some((other) => other !== root && isInside(other, root)),
  );
  for (const root of new Set(outermost)) {
    const enter = (path: string) => !isInside(`${root}/${path}`, folder.path);
    try {
      for (const { path, stats, noText } of walkFolder(root, { noText: true, enter })) {
        const ino = String(stats.inode);
        if (noText !== true && wanted.has(ino) && !found.has(ino)) found.set(ino, { root, path });
      }
    } catch (error) {
      if (!isAbsence(error)) throw error;
    }
  }
  return found;
}

/** One op in one swap: the entry that is moved from its path into a slot, and the one that is moved from a slot to the path. */
export interface SwapStep {
  readonly op: Op;
  readonly leaving: Identity | null;
  readonly entering: Identity | null;
}
