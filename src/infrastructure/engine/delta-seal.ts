import type { BigIntStats } from "node:fs";
import { dirname, join } from "node:path";
import { type SealNote, sealNote } from "../../domain/jobs/seal-note.ts";
import { type Identity, identify, identifyAt } from "./entry-identity.ts";
import { hashAt } from "./content.ts";
import { areaOf, isIndexFile } from "./git-area.ts";
import { type JobFolder, type Op, opSlotPath } from "./job-folder.ts";
import { keptFolder } from "./kept-folder.ts";
import { isVisiblySame } from "./compare-entries.ts";
import { copyEntry } from "./copy-entry.ts";
import type { FirstSight } from "./first-sight.ts";
import { makeFreshFolder } from "./fresh-folder.ts";
import { baseHash, entryAtBegin, type SealedUpper, UNKNOWN_IDENTITY } from "./overlay-seal.ts";
import { stripMarks } from "./strip-marks.ts";
import { type LaidRoot, namesTakenFromLower, type UpperEntry, walkUpper } from "./overlay-layers.ts";

/** What lay in an upper at a moment. */
export type UpperLook = ReadonlyMap<
  string,
  { readonly kind: UpperEntry["kind"]; readonly stats: BigIntStats }
>;

export function lookAtUpper(root: LaidRoot): UpperLook {
  const look = new Map<string, { kind: UpperEntry["kind"]; stats: BigIntStats }>();
  for (const { path, kind, stats } of walkUpper(root)) look.set(path, { kind, stats });
  return look;
}

export interface DeltaSealDeps {
  readonly folder: JobFolder;
  readonly root: LaidRoot;
  readonly index: number;
  readonly firstSlot: number;
  readonly stamp: bigint;
  readonly sight: FirstSight;
  /** The upper as the job found it. */
  readonly before: UpperLook;
  /** Absolute paths of the workspace that the job may not keep, with all below. */
  readonly leftOut: readonly string[];
}

/**
 * Turns what one job did to an upper that goes on being used into ops, copying its files into slots. Unlike
 * `sealUpper`, it leaves the upper as it is, and takes only what differs from the job's beginning: what earlier jobs
 * left there stands in the workspace already, or somebody has changed it there since.
 */
export function sealDelta(parts: DeltaSealDeps): SealedUpper {
  const { folder, root, index, firstSlot, before } = parts;
  const ops: Op[] = [];
  const noText: string[] = [];
  const notes: SealNote[] = [];
  const area = (path: string) => areaOf(path, index > 0, (at) => identify(root.path, at) === null);
  const isLeftOut = (path: string) => {
    const absolute = join(root.path, path);
    return parts.leftOut.some((out) => absolute === out || absolute.startsWith(`${out}/`));
  };
  const asOf = (path: string) =>
    parts.sight.file(join(root.path, path))?.identity ??
    entryAtBegin(root.path, path, parts.stamp, parts.sight.existed(join(root.path, path)));
  const add = (path: string, a: Identity | null, b: Identity | null, aHash?: string, bHash?: string) => {
    const hashes = { ...(aHash && { aHash }), ...(bHash && { bHash }) };
    ops.push({ n: firstSlot + ops.length, root: index, path, a, b, ...hashes, area: area(path) });
  };
  const hashOf = (path: string, a: Identity | null) =>
    baseHash(root, path, a, parts.sight, isIndexFile(path, area(path)));
  const remove = (path: string) => {
    const a = isLeftOut(path) ? null : asOf(path);
    if (a !== null) add(path, a, null, hashOf(path, a));
  };

  function takeFolder(path: string, kind: "directory" | "opaque", stats: BigIntStats): void {
    const a = asOf(path);
    const mode = Number(stats.mode & 0o7777n);
    notes.push(...keptFolder({ path, a, stats, from: join(root.path, path), to: join(root.upper, path) }));
    if (a?.kind !== "directory" || a.mode !== mode) {
      const next = opSlotPath(folder, firstSlot + ops.length, "b");
      makeFreshFolder(next, join(root.upper, path), stats);
      add(path, a, identifyAt(next));
    }
    if (kind !== "opaque" || a?.kind !== "directory" || before.get(path)?.kind === "opaque") return;
    const taken = namesTakenFromLower(root, path);
    taken.paths.forEach(remove);
    noText.push(...taken.noText);
  }

  function takeFile(path: string, kind: "file" | "symlink"): void {
    const a = asOf(path);
    const isIndex = isIndexFile(path, area(path));
    const [from, to] = [join(root.path, path), join(root.upper, path)];
    const now = identifyAt(to) as Identity;
    const bHash = hashAt(to, now, isIndex);
    const aHash = hashOf(path, a);
    if (
      a !== null &&
      a.ctime !== UNKNOWN_IDENTITY &&
      isVisiblySame({ a, b: now, aHash, bHash, isIndex, from, to })
    )
      return;
    const next = opSlotPath(folder, firstSlot + ops.length, "b");
    copyEntry(to, next);
    if (kind === "file") stripMarks(next);
    add(path, a, identifyAt(next), aHash, bHash);
  }

  const after = new Map(lookAtUpper(root));
  for (const [path, { kind, stats }] of after) {
    const was = before.get(path);
    if (isLeftOut(path) || (was !== undefined && isSameUpperEntry(was, { kind, stats }))) continue;
    if (kind === "no-text") noText.push(path);
    else if (kind === "gone") remove(path);
    else if (kind === "directory" || kind === "opaque") takeFolder(path, kind, stats);
    else if (kind === "file" || kind === "symlink") takeFile(path, kind);
    else notes.push(sealNote("special", path));
  }
  // What an earlier job had made goes without a mark: there was nothing below it when it was made.
  const told = new Set(ops.map(({ path }) => path));
  for (const [path, { kind }] of before) {
    if (kind === "gone" || kind === "other" || after.has(path) || told.has(path)) continue;
    const parent = dirname(path);
    const stays = parent === "." || isFolder(after.get(parent)?.kind);
    if (!stays) continue;
    if (kind === "no-text") noText.push(path);
    else remove(path);
  }
  return { ops, noText, notes };
}

function isFolder(kind: UpperEntry["kind"] | undefined): boolean {
  return kind === "directory" || kind === "opaque";
}

type SeenUpperEntry = { readonly kind: UpperEntry["kind"]; readonly stats: BigIntStats };

/** A folder comes and goes with what is in it; only its mode and its kind are its own. */
function isSameUpperEntry(a: SeenUpperEntry, b: SeenUpperEntry): boolean {
  if (a.kind !== b.kind) return false;
  if (isFolder(a.kind)) return a.stats.mode === b.stats.mode;
  return a.stats.ctimeNs === b.stats.ctimeNs && a.stats.ino === b.stats.ino;
}
