import { lstatSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { ProcessRunner } from "../../application/ports/process.ts";
import type { SealedChanges, Transaction } from "../../application/ports/jobs-transaction.ts";
import { gatherSealNotes, type SealNote } from "../../domain/jobs/seal-note.ts";
import { createFolderView } from "../engine/folder-view.ts";
import { currentEntryBelow } from "../engine/standing.ts";
import { bytesOrNull, currentBytes, lookThrough } from "../engine/current-place.ts";
import { lookAtUpper, sealDelta } from "../engine/delta-seal.ts";
import { createFirstSight } from "../engine/first-sight.ts";
import { createChangeWatch } from "../engine/overlay-changes.ts";
import type { OverlayBeginResult } from "../engine/overlay-transaction.ts";
import type { LaidRoot } from "../engine/overlay-layers.ts";
import { readNoFollow } from "../engine/content.ts";
import { takeStamp } from "../engine/fs-stamp.ts";
import { isInside, repositoryOf } from "../engine/git-roots.ts";
import { type JobFolder, type Op, removeSlots, writePlan } from "../engine/job-folder.ts";
import { validateOps } from "../engine/seal-ops.ts";
import { makeDurable } from "../engine/make-durable.ts";
import { toChanges } from "../engine/plan-changes.ts";
import { foldersOnTheWay } from "../engine/way-folders.ts";

export interface ContainerStage {
  readonly workspace: string;
  readonly roots: readonly LaidRoot[];
  /** `copy`: the uppers are whole copies. */
  readonly kind: "overlay" | "copy";
  readonly processes: ProcessRunner;
  /** The container stood still since its processes were ended; it goes on. */
  readonly goOn: () => Promise<void>;
  /** Puts paths back inside, so that the container shows what the workspace has. Absolute. */
  readonly restoreInside: (paths: readonly string[]) => Promise<void>;
}

/**
 * Stages a job in the view that a container has of the workspace. The container goes on afterwards, and so does its
 * upper: a job is what changed in the upper between its beginning and its end.
 */
export function beginContainerTransaction(stage: ContainerStage, folder: JobFolder): OverlayBeginResult {
  const { workspace, roots } = stage;
  const stamp = takeStamp(join(folder.path, "stamp"));
  const sight = createFirstSight(stamp);
  const before = roots.map(lookAtUpper);
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
    original: (path) => bytesOrNull(resolve(workspace, path)),
    current: (path) =>
      stage.kind === "copy"
        ? bytesInCopy(roots, resolve(workspace, path))
        : currentBytes(roots, resolve(workspace, path)),
    repository: repositoryOf(workspace),
    async seal(judge): Promise<SealedChanges> {
      const left: Op[] = [];
      const noText: string[] = [];
      const notes: SealNote[] = [];
      roots.forEach((root, index) => {
        const delta = { folder, root, index, firstSlot: left.length, stamp, sight, leftOut };
        const sealed = sealDelta({ ...delta, before: before[index] ?? new Map() });
        left.push(...sealed.ops);
        notes.push(...sealed.notes);
        noText.push(...sealed.noText.map((path) => relative(workspace, join(root.path, path))));
      });
      if (noText.length > 0) return { changes: [], outside: [], notes: [], noText };
      const { ops, turnedDown } = validateOps({ folder, workspace, roots: paths, ops: left }, judge);
      leftOut.push(...turnedDown);
      // What is copied cannot be changed from inside any more.
      await stage.goOn();
      if (leftOut.length > 0) await stage.restoreInside(leftOut);
      makeDurable(folder, ops);
      const folders = foldersOnTheWay(ops, (root, path) => sight.folder(join(paths[root] as string, path)));
      writePlan(folder, { roots: paths, stamp: String(stamp), ops, folders });
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
  if (root === undefined) return null;
  const at = join(root.upper, relative(root.path, absolute));
  return lstatSync(at, { throwIfNoEntry: false })?.isFile() ? readNoFollow(at) : null;
}
