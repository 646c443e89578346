import { dirname, join, relative, resolve } from "node:path";
import type { SealedChanges, Transaction } from "../../application/ports/jobs-transaction.ts";
import type { ProcessRunner } from "../../application/ports/platform-processes.ts";
import { gatherSealNotes } from "../../domain/jobs/result.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { type JobFolder, type Op, removeSlots, takeStamp, toChanges, writePlan } from "../jobs/job-folder.ts";
import { createFolderView, currentEntryBelow } from "../platform/folder-view.ts";
import { repositoryOf } from "../platform/git-roots.ts";
import { bytesBelow } from "../platform/read-file.ts";
import type { LaidRoot, OverlayBeginResult } from "../sandbox/create-sandbox.ts";
import { createChangeWatch, createFirstSight, type FirstSight } from "./overlay-changes.ts";
import { currentBytes, lookThrough, originalBytes } from "./overlay-layers.ts";
import { lookAtUpper, sealDelta, type UpperLook } from "./overlay-seal.ts";
import { gatherSealedRoots, makeDurable, validateOps } from "./seal-ops.ts";
import { foldersOnTheWay } from "./swap.ts";

interface ContainerStage {
  readonly workspace: string;
  readonly roots: readonly LaidRoot[];
  /** `copy`: the uppers are whole copies. */
  readonly kind: "overlay" | "copy";
  readonly processes: ProcessRunner;
  /** The container was paused since its processes were ended; it is resumed. */
  readonly goOn: () => Promise<void>;
  /** Puts paths back inside, so that the container shows what the workspace has. Absolute. */
  readonly restoreInside: (paths: readonly string[]) => Promise<void>;
  /** Null where everything that runs did before is in the workspace. */
  readonly unlanded: UnlandedRuns | null;
  readonly onSealed: (unlanded: UnlandedRuns) => void;
}

/** The start of runs whose work has not landed: the next job includes their changes. */
export interface UnlandedRuns {
  readonly stamp: bigint;
  readonly sight: FirstSight;
  /** By root: the upper as the first of them found it. */
  readonly before: readonly UpperLook[];
  /** By root: the paths that they changed, with the folders above. Other changes were written by tests and belong to no job. */
  readonly paths: readonly ReadonlySet<string>[];
}

/** The upper at the start of a job, without changes that have not landed yet. */
function lookBefore(roots: readonly LaidRoot[], unlanded: UnlandedRuns | null): UpperLook[] {
  return roots.map((root, index) => {
    const look = new Map(lookAtUpper(root));
    for (const path of unlanded?.paths[index] ?? []) {
      const was = unlanded?.before[index]?.get(path);
      if (was === undefined) look.delete(path);
      else look.set(path, was);
    }
    return look;
  });
}

/** The paths of some ops in one root, with all folders above them. */
function pathsOf(ops: readonly Op[], root: number): Set<string> {
  const paths = new Set<string>();
  for (const { path } of ops.filter((op) => op.root === root))
    for (let at = path; at !== "."; at = dirname(at)) paths.add(at);
  return paths;
}

/** Stages a job in a container's view of the workspace, which continues with the same upper: the job is what changed in it meanwhile. */
export function beginContainerTransaction(stage: ContainerStage, folder: JobFolder): OverlayBeginResult {
  const { workspace, roots, unlanded } = stage;
  const taken = takeStamp(join(folder.path, "stamp"));
  const { stamp, sight } = unlanded ?? { stamp: taken, sight: createFirstSight(taken) };
  const before = lookBefore(roots, unlanded);
  const takeChanges = createChangeWatch(roots, workspace, sight);
  takeChanges();
  const leftOut: string[] = [];
  const paths = roots.map(({ path }) => path);
  const transaction: Transaction = {
    kind: "overlay",
    view: createFolderView(workspace),
    directory: workspace,
    environment: {},
    processes: stage.processes,
    takeChanges,
    revert(changed) {
      for (const path of changed) leftOut.push(resolve(workspace, path));
    },
    rewrite: () => {},
    look(path, when) {
      const absolute = resolve(workspace, path);
      if (stage.kind === "overlay" || when === "before") return lookThrough(roots, absolute, when);
      const root = roots.find((one) => isInside(one.path, absolute));
      return root === undefined ? null : currentEntryBelow(root.upper, relative(root.path, absolute));
    },
    original: (path) => originalBytes(roots, resolve(workspace, path)),
    current: (path) =>
      stage.kind === "copy"
        ? bytesInCopy(roots, resolve(workspace, path))
        : currentBytes(roots, resolve(workspace, path)),
    repository: repositoryOf(workspace),
    async seal(judge): Promise<SealedChanges> {
      const gathered = gatherSealedRoots(workspace);
      const { ops: left, notes } = gathered;
      roots.forEach((root, index) => {
        const delta = { folder, root, index, firstSlot: left.length, stamp, sight, leftOut };
        gathered.add(root.path, sealDelta({ ...delta, before: before[index] ?? new Map() }));
      });
      const refusal = gathered.refusal();
      if (refusal !== null) return refusal;
      const { ops, turnedDown } = validateOps({ folder, workspace, roots: paths, ops: left }, judge);
      leftOut.push(...turnedDown);
      // Copied files can no longer be changed from inside.
      await stage.goOn();
      if (leftOut.length > 0) await stage.restoreInside(leftOut);
      stage.onSealed({
        stamp,
        sight,
        before: unlanded?.before ?? before,
        paths: roots.map((_, index) => pathsOf(ops, index)),
      });
      await makeDurable(folder, ops);
      const folders = foldersOnTheWay(ops, (root, path) => sight.folder(join(paths[root] as string, path)));
      writePlan(folder, { roots: paths, workspace, stamp: String(stamp), ops, folders });
      return { changes: toChanges(ops, paths, workspace), outside: [], notes: gatherSealNotes(notes) };
    },
    async discard() {
      await stage.goOn();
      removeSlots(folder);
    },
  };
  return { ok: true, transaction };
}

function bytesInCopy(roots: readonly LaidRoot[], absolute: string): Uint8Array | null {
  const root = roots.find(({ path }) => isInside(path, absolute));
  return root === undefined ? null : bytesBelow(root.upper, relative(root.path, absolute));
}
