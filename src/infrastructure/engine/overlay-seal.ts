import { renameSync } from "node:fs";
import { join } from "node:path";
import { type SealNote, sealNote } from "../../domain/jobs/seal-note.ts";
import { getXattr } from "../platform/xattr.ts";
import { type Anchors, createAnchors } from "./anchor.ts";
import { type Identity, identify, identifyAt, identityOf } from "./entry-identity.ts";
import { hashAt } from "./content.ts";
import { areaOf, isIndexFile } from "./git-area.ts";
import { type JobFolder, type Op, opSlotPath } from "./job-folder.ts";
import { keptFolder } from "./kept-folder.ts";
import { isVisiblySame, onlyModeDiffers } from "./compare-entries.ts";
import { type FolderBase, NO_FOLDER } from "./way-folders.ts";
import type { FirstSight } from "./first-sight.ts";
import { makeFreshFolder } from "./fresh-folder.ts";
import { settleMoves } from "./settle-moves.ts";
import { stripMarks } from "./strip-marks.ts";
import { type LaidRoot, namesTakenFromLower, type UpperEntry, walkUpper } from "./overlay-layers.ts";

export interface SealedUpper {
  readonly ops: readonly Op[];
  /** What the job touched under names that are no UTF-8, as people can read them: no op can say it. */
  readonly noText: readonly string[];
  /** What no plan can bring in. */
  readonly notes: readonly SealNote[];
}

/** Turns what a job left in an upper into ops, moving its files into slots. */
export function sealUpper(
  folder: JobFolder,
  root: LaidRoot,
  stamp: bigint,
  sight: FirstSight,
  index: number,
  firstSlot: number,
): SealedUpper {
  const ops: Op[] = [];
  const noText: string[] = [];
  const notes: SealNote[] = [];
  const anchors = createAnchors();
  const isNewRepository = (path: string) => identify(root.path, path) === null;
  const area = (path: string) => areaOf(path, index > 0, isNewRepository);
  const add = (
    path: string,
    a: Identity | null,
    b: Identity | null,
    aHash?: string,
    bHash?: string,
    inPlace?: true,
  ) => {
    const more = { ...(aHash && { aHash }), ...(bHash && { bHash }), ...(inPlace && { inPlace }) };
    ops.push({ n: firstSlot + ops.length, root: index, path, a, b, area: area(path), ...more });
  };
  const asOf = (path: string) => {
    const absolute = join(root.path, path);
    const seen = sight.file(absolute);
    if (seen !== undefined) return seen.identity;
    return entryAtBegin(root.path, path, sight.since(absolute) ?? stamp, sight.existed(absolute), anchors);
  };
  const hashOf = (path: string, a: Identity | null) =>
    baseHash(root, path, a, sight, isIndexFile(path, area(path)));
  const remove = (path: string) => {
    const a = asOf(path);
    if (a !== null) add(path, a, null, hashOf(path, a));
  };
  let entries: UpperEntry[] = [...walkUpper(root, { unlock: true })];
  if (entries.some(({ source }) => source !== undefined)) {
    settleMoves(root, entries);
    entries = [...walkUpper(root, { unlock: true })];
  }
  for (const { path, stats, kind } of entries) {
    if (kind === "no-text") noText.push(path);
    const absolute = join(root.upper, path);
    const a = asOf(path);
    const next = opSlotPath(folder, firstSlot + ops.length, "b");
    switch (kind) {
      case "gone":
        // The kernel marks only what stood there: if nothing does, and nobody looked before, somebody took it away.
        if (a === null && sight.existed(join(root.path, path)) === undefined) add(path, GONE_SINCE, null);
        else remove(path);
        break;
      case "directory":
      case "opaque": {
        const mode = Number(stats.mode & 0o7777n);
        if (kind === "directory" && a?.kind !== "directory" && baseOfFolder(root, path, sight) !== null)
          break;
        notes.push(...keptFolder({ path, a, stats, from: join(root.path, path), to: absolute }));
        if (a?.kind !== "directory" || a.mode !== mode) {
          makeFreshFolder(next, absolute, stats);
          add(path, a, identifyAt(next));
        }
        if (kind === "opaque" && a?.kind === "directory") {
          const taken = namesTakenFromLower(root, path);
          taken.paths.forEach(remove);
          noText.push(...taken.noText);
        }
        break;
      }
      case "file":
      case "symlink": {
        const isIndex = isIndexFile(path, area(path));
        const now = identityOf(stats);
        const bHash = hashAt(absolute, now, isIndex);
        const original = join(root.path, path);
        const aHash = hashOf(path, a);
        const compared = { b: now, aHash, bHash, isIndex, from: original, to: absolute };
        if (a !== null && a.ctime !== UNKNOWN_IDENTITY && isVisiblySame({ a, ...compared })) break;
        if (a !== null && area(path) === "file" && onlyModeDiffers({ a, ...compared })) {
          add(path, a, { ...a, mode: now.mode }, aHash, bHash, true);
          break;
        }
        renameSync(absolute, next);
        if (kind === "file") stripMarks(next, now.mode);
        add(path, a, identifyAt(next), aHash, bHash);
        break;
      }
      case "other":
        notes.push(sealNote("special", path));
        break;
      case "no-text":
        break;
    }
  }
  anchors.close();
  return { ops, noText, notes };
}

/**
 * The folder of the workspace that one of an upper was laid over; null where the job made it. What the kernel marks as
 * copied up was there, though somebody may have taken it away since.
 */
export function baseOfFolder(root: LaidRoot, path: string, sight: FirstSight): FolderBase | null {
  const mark = `${root.redirects ? "trusted" : "user"}.overlay.origin`;
  const base = sight.folder(join(root.path, path));
  return base ?? (getXattr(join(root.upper, path), mark).ok ? NO_FOLDER : null);
}

/** The hash of what stood there at begin; what was seen then is not read again, and what was touched since cannot be. */
export function baseHash(
  root: LaidRoot,
  path: string,
  a: Identity | null,
  sight: FirstSight,
  isIndex: boolean,
): string | undefined {
  if (a === null || a.ctime === UNKNOWN_IDENTITY) return undefined;
  const absolute = join(root.path, path);
  const seen = sight.file(absolute);
  return seen === undefined ? hashAt(absolute, a, isIndex) : seen.hash;
}

/**
 * What stood at a path when the job began. An overlay does not say; but what was touched since the stamp is not it
 * any more, and then nothing may match: the commit must find a conflict there.
 */
export function entryAtBegin(
  root: string,
  path: string,
  stamp: bigint,
  existed: boolean | undefined,
  anchors?: Anchors,
): Identity | null {
  const now = identify(root, path, anchors);
  if (now === null) return existed === true ? GONE_SINCE : null;
  if (existed === false) return null;
  if (now.kind === "directory" || BigInt(now.ctime) < stamp) return now;
  return { ...now, ctime: UNKNOWN_IDENTITY, ino: UNKNOWN_IDENTITY };
}

/** Matches nothing that ever stood anywhere. */
export const UNKNOWN_IDENTITY = "0";
const GONE_SINCE: Identity = {
  kind: "file",
  ino: UNKNOWN_IDENTITY,
  mode: 0,
  size: 0,
  mtime: UNKNOWN_IDENTITY,
  ctime: UNKNOWN_IDENTITY,
  uid: 0,
  gid: 0,
};
