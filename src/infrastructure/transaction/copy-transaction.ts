import { chmodSync, lstatSync, mkdirSync, readlinkSync, renameSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Begun, Repository, Sealed, Transaction } from "../../application/ports/transaction.ts";
import type { Change } from "../../domain/patch/result.ts";
import { createFolderView } from "../workspace/folder-view.ts";
import { type Identity, identifyAt, identityOf, kindOf } from "../workspace/identity.ts";
import { walk } from "../workspace/walk.ts";
import { hashAt, readNoFollow } from "./content.ts";
import { type CopiedRoot, copyEntry, copyRoots, repointGit, restorePaths } from "./copy-roots.ts";
import { takeStamp } from "./fs-stamp.ts";
import { areaOf, isIndexFile } from "./git-area.ts";
import { findGit, isInside, rootsFor } from "./git-roots.ts";
import { type JobFolder, type Op, removeSlots, slot, writePlan } from "./job-folder.ts";
import { isHidden, type Manifest, takeManifest } from "./manifest.ts";
import { changesOf } from "./plan-changes.ts";

export interface CopyParts {
  readonly workspace: string;
  readonly folder: JobFolder;
  readonly limitBytes: number;
  /** True for absolute paths that belong to PicoClaw and are no part of any view. */
  readonly isOwn: (absolute: string) => boolean;
}

/**
 * Stages a job in a copy of the workspace (and of its repository): commands run there, and the change set is
 * what differs in the end. The way for machines without overlays; cost follows the size of the workspace.
 */
export function beginCopyTransaction({ workspace, folder, limitBytes, isOwn }: CopyParts): Begun {
  const roots = rootsFor(workspace);
  const stamp = takeStamp(join(folder.path, "stamp"));
  const manifests = roots.map((root) => takeManifest(root, (path) => isOwn(join(root, path))));
  const bytes = manifests.reduce((sum, manifest) => sum + manifest.bytes, 0);
  if (bytes > limitBytes) {
    return {
      ok: false,
      refusal: {
        code: "too-large",
        message: `the workspace holds ${bytes} bytes, more than worker.copy_limit`,
        bytes,
        limitBytes,
      },
    };
  }
  const { copies, error } = copyRoots(roots, join(folder.path, "view"), isOwn);
  if (error !== null) {
    removeSlots(folder);
    const code = /No space left/.test(error) ? "no-space" : "failed";
    return { ok: false, refusal: { code, message: `the workspace could not be copied: ${error}` } };
  }
  const pointers = new Set(repointGit(workspace, copies));
  return { ok: true, transaction: open({ workspace, folder, copies, manifests, pointers, stamp }) };
}

/** Stands for the ctime of a folder: it comes and goes, but what happens in it is told by its entries. */
const FOLDER = -1n;

interface OpenCopy {
  readonly workspace: string;
  readonly folder: JobFolder;
  readonly copies: readonly CopiedRoot[];
  readonly manifests: readonly Manifest[];
  readonly pointers: ReadonlySet<string>;
  readonly stamp: bigint;
}

function open(state: OpenCopy): Transaction {
  const { workspace, folder, copies, manifests } = state;
  const top = copies[0] as CopiedRoot;
  const prefix = relative(top.original, workspace);
  const directory = join(top.copy, prefix);
  const copied = takeStamp(join(folder.path, "started"));
  const started = takeStamp(join(folder.path, "started"), copied);
  /** The view as of the last look: path → ctime, for telling what one command changed. */
  let last: Map<string, bigint> | null = null;
  const touched = new Set<string>();
  const inTop = (path: string) => (prefix === "" ? path : `${prefix}/${path}`);

  function snapshot(): Map<string, bigint> {
    const now = new Map<string, bigint>();
    copies.forEach(({ copy }, i) => {
      for (const { path, stats } of walk(copy))
        now.set(`${i}:${path}`, stats.isDirectory() ? FOLDER : stats.ctimeNs);
    });
    return now;
  }

  /** The last look, brought up to date where our own edits went. */
  function glance(before: Map<string, bigint>): Map<string, bigint> {
    const now = new Map(before);
    for (const path of touched) {
      const key = `0:${inTop(path)}`;
      const stats = lstatSync(join(directory, path), { bigint: true, throwIfNoEntry: false });
      if (stats?.isDirectory())
        for (const below of walk(join(directory, path)))
          now.set(`${key}/${below.path}`, below.stats.isDirectory() ? FOLDER : below.stats.ctimeNs);
      if (stats === undefined) {
        for (const known of before.keys())
          if (known === key || known.startsWith(`${key}/`)) now.delete(known);
      } else now.set(key, stats.isDirectory() ? FOLDER : stats.ctimeNs);
    }
    return now;
  }

  function initial(): Map<string, bigint> {
    const known = new Map<string, bigint>();
    manifests.forEach(({ entries }, i) => {
      for (const [path, identity] of entries)
        known.set(`${i}:${path}`, identity.kind === "directory" ? FOLDER : 0n);
    });
    return known;
  }

  function differences(before: Map<string, bigint>, now: Map<string, bigint>): Change[] {
    const changes: Change[] = [];
    for (const [key, ctime] of now) {
      const then = before.get(key);
      if (then === undefined) changes.push({ path: shown(key), kind: "added" });
      else if (then === 0n ? ctime >= started : ctime !== then)
        changes.push({ path: shown(key), kind: "modified" });
    }
    for (const key of before.keys()) {
      if (!now.has(key) && !isHidden(manifests[Number(key[0])]?.hidden ?? new Set(), key.slice(2)))
        changes.push({ path: shown(key), kind: "deleted" });
    }
    return changes
      .filter(({ path }) => !/(^|\/)\.git\/(.*\/)?objects\//.test(path))
      .sort((x, y) => (x.path < y.path ? -1 : 1));
  }

  const shown = (key: string) =>
    relative(workspace, join((copies[Number(key[0])] as CopiedRoot).original, key.slice(2)));

  /** Where a path of the change set stands: its root, its original and its copy. */
  function place(path: string) {
    const absolute = resolve(workspace, path);
    const found = copies.findLastIndex(({ original }) => isInside(original, absolute));
    const root = Math.max(0, found);
    const { original, copy } = copies[root] as CopiedRoot;
    const below = relative(original, absolute);
    return { root, below, key: `${root}:${below}`, original: absolute, copy: join(copy, below) };
  }

  return {
    kind: "copy",
    view: createFolderView(directory, (path) => touched.add(path)),
    directory,
    environment: {},
    takeChanges({ processRan }) {
      const before = last ?? initial();
      const now = processRan ? snapshot() : glance(before);
      last = now;
      touched.clear();
      return differences(before, now);
    },
    revert(paths) {
      for (const path of paths) {
        const { key, original, copy } = place(path);
        if (lstatSync(original, { throwIfNoEntry: false })) copyEntry(original, copy);
        else rmSync(copy, { recursive: true, force: true });
        const now = lstatSync(copy, { bigint: true, throwIfNoEntry: false });
        if (now) last?.set(key, now.ctimeNs);
        else last?.delete(key);
      }
    },
    original(path) {
      const { root, below, original } = place(path);
      return manifests[root]?.entries.get(below)?.kind === "file" ? readNoFollow(original) : null;
    },
    current(path) {
      const { copy } = place(path);
      return lstatSync(copy, { throwIfNoEntry: false })?.isFile() ? readNoFollow(copy) : null;
    },
    repository: repositoryOf(workspace),
    seal: async () => seal(state, started),
    discard: async () => removeSlots(folder),
  };
}

function repositoryOf(workspace: string): Repository | null {
  const git = findGit(workspace);
  if (git === null) return null;
  return {
    workspaceAt: relative(git.topLevel, workspace),
    index: relative(workspace, join(git.gitDirectory, "index")),
    objects: relative(workspace, join(git.commonDirectory, "objects")),
  };
}

async function seal(state: OpenCopy, started: bigint): Promise<Sealed> {
  const { workspace, folder, copies, manifests, stamp } = state;
  const ops: Op[] = [];
  copies.forEach((root, i) => {
    for (const op of rootOps(state, root, i, started, ops.length)) ops.push(op);
  });
  const outside = changedMeanwhile(copies, manifests, new Set(ops.map((op) => `${op.root}:${op.path}`)));
  const notes = manifests.flatMap(({ hidden }) =>
    [...hidden].map((path) => `not visible to the job: ${path}`),
  );
  rmSync(join(folder.path, "view"), { recursive: true, force: true });
  const roots = copies.map(({ original }) => original);
  writePlan(folder, { roots, stamp: String(stamp), ops });
  return {
    changes: changesOf(ops, roots, workspace),
    outside: outside.map((path) => relative(workspace, path)),
    notes,
  };
}

/** Compares one copy with what its root held, and moves what is new or different into slots. */
function rootOps(state: OpenCopy, root: CopiedRoot, index: number, started: bigint, firstSlot: number): Op[] {
  const { folder, manifests, pointers, copies } = state;
  const manifest = manifests[index] as Manifest;
  const isGitRoot = index > 0;
  const isNewRepository = (path: string) => !manifest.entries.has(path);
  const ops: Op[] = [];
  const seen = new Set<string>();
  const folders = new Set<string>();
  const found = [...walk(root.copy)];
  for (const { path, stats } of found) {
    seen.add(path);
    if (stats.isDirectory()) folders.add(path);
    const a = manifest.entries.get(path) ?? null;
    const kind = kindOf(stats);
    if (isHidden(manifest.hidden, path) || kind === "other") continue;
    const absolute = join(root.copy, path);
    if (a !== null && a.kind === kind && kind !== "directory" && stats.ctimeNs < started) continue;
    if (pointers.has(absolute) && stats.ctimeNs < started) continue;
    if (a?.kind === "directory" && kind === "directory" && Number(stats.mode & 0o7777n) === a.mode) continue;
    if (pointers.has(absolute)) restorePaths(absolute, copies);
    const area = areaOf(path, isGitRoot, isNewRepository);
    const now = identifyAt(absolute) as Identity;
    const isIndex = isIndexFile(path, area);
    const bHash = hashAt(absolute, now, isIndex);
    const aHash = a === null ? undefined : hashAt(join(root.original, path), a, isIndex);
    if (a !== null && same(a, now, aHash, bHash, isIndex, absolute, join(root.original, path))) continue;
    const n = firstSlot + ops.length;
    const to = slot(folder, n, "b");
    if (kind === "directory") {
      mkdirSync(to);
      chmodSync(to, now.mode);
    } else renameSync(absolute, to);
    ops.push({
      n,
      root: index,
      path,
      a,
      b: identifyAt(to),
      ...(aHash && { aHash }),
      ...(bHash && { bHash }),
      area,
    });
  }
  for (const [path, a] of manifest.entries) {
    if (seen.has(path) || isHidden(manifest.hidden, path) || isUnderDeleted(path, manifest, folders))
      continue;
    const area = areaOf(path, isGitRoot, isNewRepository);
    const aHash = hashAt(join(root.original, path), a, isIndexFile(path, area));
    ops.push({ n: firstSlot + ops.length, root: index, path, a, b: null, ...(aHash && { aHash }), area });
  }
  return ops;
}

/** Whether nothing a person could see differs: kind, mode, bytes and, but for an index, the time of change. */
function same(
  a: Identity,
  b: Identity,
  aHash: string | undefined,
  bHash: string | undefined,
  isIndex: boolean,
  absolute: string,
  original: string,
): boolean {
  if (a.kind !== b.kind || a.mode !== b.mode) return false;
  if (isIndex) return aHash !== undefined && aHash === bHash;
  if (a.kind === "symlink") return readlinkSync(absolute) === readlinkSync(original);
  return a.size === b.size && a.mtime === b.mtime && (aHash === bHash || aHash === undefined);
}

/** A deleted folder is one op; what was in it goes with it. */
function isUnderDeleted(path: string, manifest: Manifest, folders: ReadonlySet<string>): boolean {
  const slash = path.lastIndexOf("/");
  if (slash < 0) return false;
  const parent = path.slice(0, slash);
  return manifest.entries.get(parent)?.kind === "directory" && !folders.has(parent);
}

const MEANWHILE_LIMIT = 20;

/** Paths of the workspace that somebody, or the job past its view, changed while the job ran. */
function changedMeanwhile(
  copies: readonly CopiedRoot[],
  manifests: readonly Manifest[],
  planned: ReadonlySet<string>,
): string[] {
  const changed: string[] = [];
  copies.forEach(({ original }, i) => {
    const manifest = manifests[i] as Manifest;
    for (const [path, then] of manifest.entries) {
      if (changed.length >= MEANWHILE_LIMIT) break;
      if (then.kind === "directory" || planned.has(`${i}:${path}`)) continue;
      const now = lstatSync(join(original, path), { bigint: true, throwIfNoEntry: false });
      if (now === undefined || identityOf(now).ctime !== then.ctime) changed.push(join(original, path));
    }
  });
  return changed;
}
