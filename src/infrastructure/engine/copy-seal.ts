import { chmodSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type SealNote, sealNote } from "../../domain/jobs/seal-note.ts";
import { type Identity, identifyAt, kindOf } from "./entry-identity.ts";
import { type WalkedEntry, walkFolder } from "./walk-folder.ts";
import { hashAt, hashIfUntouched } from "./content.ts";
import { type ByteLook, byteLook, touchedBytes } from "./copy-bytes.ts";
import type { CopiedRoot } from "./copied-roots.ts";
import { areaOf, isIndexFile } from "./git-area.ts";
import { notesPaths, type Pointer, restorePaths } from "./git-pointers.ts";
import { type JobFolder, type Op, opSlotPath } from "./job-folder.ts";
import { keptFolder } from "./kept-folder.ts";
import { lostOwners } from "./lost-owners.ts";
import { foldersAbove, isHidden, type Manifest } from "./manifest.ts";
import { isVisiblySame, onlyModeDiffers } from "./compare-entries.ts";

export interface CopySeal {
  readonly folder: JobFolder;
  readonly copies: readonly CopiedRoot[];
  readonly manifests: readonly Manifest[];
  readonly pointers: readonly Pointer[];
  readonly ownFolders: readonly string[];
  /** After the copy was made, before the first command: what is older was not touched by the job. */
  readonly started: bigint;
  /** Hashes of originals as they were when the job was first seen to change them, by root and path. */
  readonly hashes: Map<string, string>;
  /** What each copy held by then under names that are no UTF-8. */
  readonly bytes: readonly ByteLook[];
}

export interface SealedRoot {
  readonly ops: readonly Op[];
  readonly notes: readonly SealNote[];
  /** What the job touched under names that are no UTF-8. */
  readonly noText: readonly string[];
}

/** Compares one copy with what its root held, and moves what is new or different into slots. */
export function sealRoot(state: CopySeal, index: number, firstSlot: number): SealedRoot {
  const { folder, copies, started } = state;
  const manifest = state.manifests[index] as Manifest;
  const root = copies[index] as CopiedRoot;
  const isNewRepository = (path: string) => !manifest.entries.has(path);
  const area = (path: string) => areaOf(path, index > 0, isNewRepository);
  const hashOf = (path: string, a: Identity, isIndex: boolean) =>
    state.hashes.get(`${index}:${path}`) ?? hashIfUntouched(root.original, path, a, isIndex);
  const isOwn = (path: string) => state.ownFolders.includes(join(root.original, path));
  const notes: SealNote[] = [];
  const unreadable = (path: string) => {
    if (!isHidden(manifest.hidden, path)) notes.push(sealNote("unreadable", path));
  };
  const enter = (path: string) => !isOwn(path);
  const all = [...walkFolder(root.copy, { unlock: true, enter, unreadable, noText: true })];
  const found = all.filter(({ noText }) => noText !== true);
  const folders = new Set(found.filter(({ stats }) => stats.isDirectory()).map(({ path }) => path));
  const above = foldersAbove(manifest.hidden);
  const goesWhole = (path: string) => goesWithItsFolder(path, manifest, folders, above);
  const noText = touchedBytes(state.bytes[index] as ByteLook, byteLook(all), goesWhole);
  if (noText.length > 0) return { ops: [], notes, noText };
  const ops: Op[] = [];
  const made: { op: Op; from: string; mode: number }[] = [];
  for (const entry of found) {
    const { path, stats } = entry;
    const a = manifest.entries.get(path) ?? null;
    if (isHidden(manifest.hidden, path)) continue;
    const places = { from: join(root.original, path), to: join(root.copy, path) };
    if (stats.isDirectory() && stats.ctimeNs >= started)
      notes.push(...keptFolder({ path, a, stats, ...places, carriesOwner: true }));
    if (isAsItWas(entry, a, started)) continue;
    if (stats.isBlockDevice() || stats.isCharacterDevice()) {
      notes.push(sealNote("device", path));
      continue;
    }
    if (above.has(path) && !stats.isDirectory()) {
      notes.push(sealNote("holds-hidden", path));
      continue;
    }
    const absolute = places.to;
    const pointer = state.pointers.some(({ file }) => file === absolute);
    if (pointer && stats.ctimeNs < started) continue;
    if (isStaleLock(path, area(path), a)) {
      notes.push(sealNote("stale-lock", path));
      continue;
    }
    if (stats.isFile() && notesPaths(path, Number(stats.size)))
      restorePaths(absolute, state.pointers, copies);
    const isIndex = isIndexFile(path, area(path));
    const mode = Number(stats.mode & 0o7777n);
    const now = { ...(identifyAt(absolute) as Identity), mode };
    const bHash = hashAt(absolute, now, isIndex);
    const aHash = a === null ? undefined : hashOf(path, a, isIndex);
    const compared = { a: a as Identity, b: now, aHash, bHash, isIndex, ...places };
    if (a !== null && a.kind !== "directory" && isVisiblySame(compared)) continue;
    const inPlace = a !== null && area(path) === "file" && onlyModeDiffers(compared);
    const n = firstSlot + ops.length;
    const more = { ...(aHash && { aHash }), ...(bHash && { bHash }), ...(inPlace && { inPlace }) };
    const b = inPlace ? { ...a, mode } : now;
    const op: Op = { n, root: index, path, a, b, area: area(path), ...more };
    if (stats.isDirectory()) {
      if (a?.kind !== "directory") made.push({ op, from: absolute, mode });
    } else if (!inPlace) renameSync(absolute, opSlotPath(folder, n, "b"));
    ops.push(op);
  }
  takeFolders(folder, made);
  notes.push(...lostOwners(ops));
  const seen = new Set(found.map(({ path }) => path));
  for (const [path, a] of manifest.entries) {
    if (seen.has(path) || above.has(path) || isHidden(manifest.hidden, path)) continue;
    if (goesWhole(path)) continue;
    const aHash = hashOf(path, a, isIndexFile(path, area(path)));
    const n = firstSlot + ops.length;
    ops.push({ n, root: index, path, a, b: null, ...(aHash && { aHash }), area: area(path) });
  }
  return { ops, notes, noText };
}

/** Not touched since the copy was made; folders and special files are told by kind, mode and owner alone. */
function isAsItWas({ stats }: WalkedEntry, a: Identity | null, started: bigint): boolean {
  if (a === null || a.kind !== kindOf(stats)) return false;
  if (a.kind !== "directory" && a.kind !== "other") return stats.ctimeNs < started;
  const sameOwner = process.getuid?.() !== 0 || (Number(stats.uid) === a.uid && Number(stats.gid) === a.gid);
  return Number(stats.mode & 0o7777n) === a.mode && sameOwner;
}

/** When a job is sealed its processes are gone: a lock of git's that is still there would only stand in the user's way. */
function isStaleLock(path: string, area: Op["area"], a: Identity | null): boolean {
  return area === "git" && a === null && path.endsWith(".lock");
}

/** New folders, emptied by now, deepest first: as inodes they keep attributes and times. */
function takeFolders(folder: JobFolder, made: readonly { op: Op; from: string; mode: number }[]): void {
  for (const { op, from, mode } of [...made].reverse()) {
    const to = opSlotPath(folder, op.n, "b");
    if (readdirSync(from).length === 0) renameSync(from, to);
    else mkdirSync(to); // It holds what is not carried over.
    chmodSync(to, mode);
  }
}

/** A deleted folder is one op; what was in it goes with it, unless the folder must stay. */
function goesWithItsFolder(
  path: string,
  manifest: Manifest,
  folders: ReadonlySet<string>,
  above: ReadonlySet<string>,
): boolean {
  const slash = path.lastIndexOf("/");
  if (slash < 0) return false;
  const parent = path.slice(0, slash);
  return manifest.entries.get(parent)?.kind === "directory" && !folders.has(parent) && !above.has(parent);
}
