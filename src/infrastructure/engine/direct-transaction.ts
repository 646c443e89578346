import { mkdirSync } from "node:fs";
import type {
  Layers,
  SealedChanges,
  TakenEdits,
  Transaction,
} from "../../application/ports/jobs-transaction.ts";
import type { Entry, TakenEdit } from "../../application/ports/platform-view.ts";
import { type Change, gatherSealNotes } from "../../domain/jobs/result.ts";
import {
  type JobFolder,
  type Op,
  opSlotPath,
  removeSlots,
  takeStamp,
  toChanges,
  writePlan,
} from "../jobs/job-folder.ts";
import { type Identity, identify, identifyAt } from "../platform/entry-identity.ts";
import {
  createFolderView,
  createWorkspaceFiles,
  currentEntryBelow,
  toStanding,
} from "../platform/folder-view.ts";
import { inParent } from "../platform/open-folder.ts";
import { bytesBelow } from "../platform/read-file.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { createBreath } from "./breath.ts";
import { areaOf, hashAt, hashIfUntouched, isIndexFile, readSettled } from "./compare-entries.ts";
import { hasMovedFrom, lostOwners, makeDurable, partedLinks, validateOps } from "./seal-ops.ts";
import { createStagedView, type StagedView } from "./staged-view.ts";
import { foldersOnTheWay } from "./swap.ts";

/** Stages a job that only edits files: the touched paths are known, everything else stays where it is. */
export function createDirectTransaction(workspace: string, folder: JobFolder): Transaction {
  const stamp = takeStamp(`${folder.path}/stamp`);
  const view = createStagedView({
    root: workspace,
    slotPath: (n) => opSlotPath(folder, n, "b"),
    hashBase: (path, base) => hashIfUntouched(workspace, path, base, isIndexFile(path, areaAt(path))),
  });
  return {
    kind: "direct",
    view,
    directory: null,
    environment: {},
    takeChanges: () => touchedChanges(view),
    revert: (paths) => {
      for (const path of paths) view.forget(path);
    },
    rewrite: (path, bytes) => view.write(path, bytes),
    look: (path, when) =>
      when === "before" ? currentEntryBelow(workspace, path) : toStanding(view.look(path)),
    original: (path) => bytesBelow(workspace, path),
    current: (path) => (view.look(path).kind === "file" ? view.read(path) : null),
    repository: null,
    layers: directLayers(workspace, folder, view),
    seal: async (judge): Promise<SealedChanges> => {
      const left = await stagedOps(view);
      const { ops, notes } = validateOps({ folder, workspace, roots: [workspace], ops: left }, judge);
      await makeDurable(folder, ops);
      const folders = foldersOnTheWay(ops, (_, path) => view.folderBase(path));
      writePlan(folder, { roots: [workspace], stamp: String(stamp), ops, folders });
      return {
        changes: toChanges(ops, [workspace], workspace),
        outside: [],
        notes: gatherSealNotes([...notes, ...lostOwners(ops), ...partedLinks(ops, [workspace])]),
      };
    },
    discard: async () => removeSlots(folder),
  };
}

/** Nothing of it is mounted and nothing runs, so it always rests. */
function directLayers(workspace: string, folder: JobFolder, view: StagedView): Layers {
  const { look, list, peek } = view;
  const hasMoved = (path: string, base: Identity | null, hash: string | undefined) =>
    hasMovedFrom(base, identify(workspace, path), hash, (now) =>
      inParent(workspace, path, (folder, name) => hashAt(`${folder}/${name}`, now, false)),
    );
  return {
    rest: async () => {},
    wake: async () => null,
    changes: () => {
      const changes: Change[] = [];
      for (const [path, { base, slotPath }] of view.staged()) {
        const kind = changeKind(base?.kind, slotPath === null ? "missing" : view.look(path).kind);
        if (kind !== null) changes.push({ path, kind });
      }
      return changes.sort((x, y) => (x.path < y.path ? -1 : 1));
    },
    files: {
      look,
      list,
      read: peek,
      readPart: (path, offset, length) => peek(path).subarray(offset, offset + length),
    },
    moved: () =>
      [...view.staged()].flatMap(([path, { base, hash, bytes }]) =>
        hasMoved(path, base, hash) ? [{ path, base: base === null ? null : bytes }] : [],
      ),
    adopt(path, theirs, bytes) {
      const found = view.look(path).kind === "file" ? readSettled(workspace, path, theirs) : null;
      if (found !== null) view.adopt(path, found, theirs, bytes);
      return found !== null;
    },
    forget(paths) {
      for (const path of paths) view.reset(path);
    },
    takeEdits(): TakenEdits {
      const edits: TakenEdit[] = [];
      for (const [path, { base, hash }] of view.staged()) {
        if (hasMoved(path, base, hash)) return { ok: false, path };
        const entry = view.look(path);
        edits.push({ path, entry, bytes: entry.kind === "file" ? view.read(path) : null });
      }
      removeTree(`${folder.path}/slots`);
      mkdirSync(`${folder.path}/slots`, { mode: 0o700 });
      return { ok: true, edits };
    },
  };
}

function areaAt(path: string): Op["area"] {
  return areaOf(path, false, () => false);
}

async function stagedOps(view: StagedView): Promise<Op[]> {
  const breath = createBreath();
  const ops: Op[] = [];
  for (const [path, { base, hash: aHash, slotPath, n }] of view.staged()) {
    if (breath.isDue()) await breath.take();
    const area = areaAt(path);
    const b = slotPath === null ? null : identifyAt(slotPath);
    if (b === null && base === null) continue;
    if (b?.kind === "directory" && base?.kind === "directory" && b.mode === base.mode) continue;
    const isIndex = isIndexFile(path, area);
    const bHash = b === null || slotPath === null ? undefined : hashAt(slotPath, b, isIndex);
    const isAlike = base?.kind === b?.kind && base?.mode === b?.mode;
    if (isAlike && aHash !== undefined && aHash === bHash) continue;
    ops.push({ n, root: 0, path, a: base, b, ...(aHash && { aHash }), ...(bHash && { bHash }), area });
  }
  return ops;
}

function touchedChanges(view: StagedView): Change[] {
  const changes: Change[] = [];
  for (const [path, before] of view.takeTouched()) {
    const kind = changeKind(before.kind, view.look(path).kind);
    if (kind !== null) changes.push({ path, kind });
  }
  return changes;
}

function changeKind(before: Entry["kind"] = "missing", after: Entry["kind"]): Change["kind"] | null {
  if (before === "missing") return after === "missing" ? null : "added";
  if (after === "missing") return "deleted";
  return before === "directory" && after === "directory" ? null : "modified";
}

/** `worker.transaction: none`: the job works on the workspace itself; nothing is staged and nothing can be undone. */
export function createInPlaceTransaction(workspace: string, folder: JobFolder): Transaction {
  const stamp = takeStamp(`${folder.path}/stamp`);
  const touched = new Map<string, Change>();
  const all = new Map<string, Change>();
  const view = createFolderView(workspace, (path) => touched.set(path, { path, kind: "modified" }));
  return {
    kind: "none",
    view,
    directory: workspace,
    environment: {},
    takeChanges() {
      const changes = [...touched.values()].map(
        ({ path }): Change => ({ path, kind: view.look(path).kind === "missing" ? "deleted" : "modified" }),
      );
      for (const change of changes) all.set(change.path, change);
      touched.clear();
      return changes;
    },
    revert: () => {},
    rewrite: () => {},
    look: (path, when) => (when === "before" ? null : toStanding(view.look(path))),
    original: () => null,
    current: (path) => (view.look(path).kind === "file" ? view.read(path) : null),
    repository: null,
    layers: {
      rest: async () => {},
      wake: async () => null,
      changes: () => [...all.values()],
      files: createWorkspaceFiles(workspace),
    },
    seal: async () => {
      writePlan(folder, { roots: [workspace], stamp: String(stamp), ops: [] });
      return { changes: [...all.values()], outside: [], notes: [] };
    },
    discard: async () => {},
  };
}
