import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  lchownSync,
  lstatSync,
  lutimesSync,
  openSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { type SealNote, sealNote } from "../../domain/jobs/result.ts";
import { foldersAbove, isInside } from "../../domain/platform/paths.ts";
import { type JobFolder, type Op, opSlotPath } from "../jobs/job-folder.ts";
import { Identity, identify, identifyAt } from "../platform/entry-identity.ts";
import type { EntryStats } from "../platform/entry-stats.ts";
import { renameQuickly } from "../platform/libc.ts";
import { type Anchors, createAnchors } from "../platform/open-folder.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { createSweep } from "../platform/unattended.ts";
import type { WalkOptions } from "../platform/walk-folder.ts";
import { copyXattrs, getXattr } from "../platform/xattr.ts";
import type { LaidRoot } from "../sandbox/create-sandbox.ts";
import { createBreath } from "./breath.ts";
import {
  areaOf,
  hashAt,
  isIndexFile,
  isVisiblySame,
  keptFolder,
  keptRoot,
  keptTimes,
  onlyModeDiffers,
  readEntry,
} from "./compare-entries.ts";
import type { FirstSight, SeenFile } from "./overlay-changes.ts";
import {
  copyMarked,
  makeFreshFolder,
  mayHaveMovedFolders,
  namesTakenFromLower,
  stripMarks,
  type UpperEntry,
  walkUpper,
} from "./overlay-layers.ts";
import { type FlushAhead, type SealedRoot, takeOut, type WholeSealedRoot } from "./seal-ops.ts";
import { type FolderBase, NO_FOLDER } from "./swap.ts";

/** Copies entries that moved with their folder into the upper: the originals become part of the undo record. Throws on a full disk. */
function settleMoves(root: LaidRoot, entries: readonly Pick<UpperEntry, "path" | "kind" | "source">[]): void {
  const folders = new Map<string, string[]>();
  let within: string | null = null;
  for (const { path, source, kind } of entries) {
    if (source === undefined || kind === "no-text" || (within !== null && path.startsWith(`${within}/`)))
      continue;
    within = path;
    const folder = join(root.upper, dirname(path));
    folders.set(folder, [...(folders.get(folder) ?? []), source]);
  }
  for (const [folder, sources] of folders)
    for (let i = 0; i < sources.length; i += AT_ONCE) {
      const some = sources.slice(i, i + AT_ONCE);
      copyInto(folder, some);
      for (const path of root.hides) {
        const source = some.find((one) => isInside(one, join(root.path, path)));
        if (source !== undefined)
          removeTree(join(folder, basename(source), relative(source, join(root.path, path))));
      }
    }
}

const AT_ONCE = 200;

function copyInto(folder: string, sources: readonly string[]): void {
  const complaint = copyMarked(["-x", "-t", folder, "--", ...sources]);
  if (complaint === null) return;
  const noSpace = /No space left|quota/.test(complaint);
  throw Object.assign(new Error(`${basename(folder)}: ${complaint}`), { code: noSpace ? "ENOSPC" : "EIO" });
}

/** A file or a symlink with its mode, times, owner and attributes; blocks are shared where the file system can. */
function copyEntry(from: string, to: string): void {
  const stats = lstatSync(from);
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  if (process.getuid?.() === 0) lchownSync(to, stats.uid, stats.gid);
  if (stats.isFile()) {
    chmodSync(to, 0o600);
    const descriptor = openSync(to, "r+");
    try {
      copyXattrs(from, descriptor);
    } finally {
      closeSync(descriptor);
    }
    chmodSync(to, stats.mode & 0o7777);
  }
  lutimesSync(to, stats.atime, stats.mtime);
}

/** One upper of a job, and where its changes are sealed. */
interface SealPlace {
  readonly folder: JobFolder;
  readonly root: LaidRoot;
  readonly index: number;
  readonly firstSlot: number;
  readonly stamp: bigint;
  readonly sight: FirstSight;
}

interface NewOp extends Pick<Op, "path" | "a" | "b"> {
  readonly aHash?: string | undefined;
  readonly bHash?: string | undefined;
  readonly area?: Op["area"];
  readonly inPlace?: true;
}

class UpperSeal {
  readonly ops: Op[] = [];
  readonly noText: string[] = [];
  readonly notes: SealNote[] = [];
  readonly tooDeep: string[] = [];
  /** The folders that hold a file which the job does not see: the job cannot remove them as a whole. */
  readonly holders: ReadonlySet<string>;

  constructor(
    readonly place: SealPlace,
    readonly anchors?: Anchors,
  ) {
    this.holders = new Set([...place.root.hides].flatMap((path) => [...foldersAbove(path)]));
  }

  get next(): number {
    return this.place.firstSlot + this.ops.length;
  }

  nextSlot(): string {
    return opSlotPath(this.place.folder, this.next, "b");
  }

  area(path: string): Op["area"] {
    const { root, index } = this.place;
    return areaOf(path, index > 0, (at) => identify(root.path, at) === null);
  }

  add({ path, a, b, area = this.area(path), aHash, bHash, inPlace }: NewOp): void {
    const more = { ...(aHash && { aHash }), ...(bHash && { bHash }), ...(inPlace && { inPlace }) };
    this.ops.push({ n: this.next, root: this.place.index, path, a, b, area, ...more });
  }

  /** The entry at a path when the job began. */
  asOf(path: string, absolute = `${this.place.root.path}/${path}`, seen = this.place.sight.file(absolute)) {
    const { root, stamp, sight } = this.place;
    if (seen !== undefined) return seen.identity;
    const since = sight.since(absolute) ?? stamp;
    return entryAtBegin(root.path, path, since, sight.existed(absolute), this.anchors);
  }

  hashOf(path: string, a: Identity | null): string | undefined {
    const { root, sight } = this.place;
    const absolute = `${root.path}/${path}`;
    return baseHash(absolute, a, sight.file(absolute), isIndexFile(path, this.area(path)));
  }

  remove(path: string): void {
    if (this.place.root.hides.has(path)) return;
    if (this.holders.has(path)) this.emptyHolder(path);
    else {
      const a = this.asOf(path);
      if (a !== null) this.add({ path, a, b: null, aHash: this.hashOf(path, a) });
    }
  }

  addFolder(path: string, a: Identity | null, stats: EntryStats): void {
    const { root } = this.place;
    const to = join(root.upper, path);
    this.notes.push(...keptFolder({ path, a, stats, from: join(root.path, path), to }));
    if (a?.kind === "directory" && a.mode === stats.permissions) return;
    const next = this.nextSlot();
    makeFreshFolder(next, to, stats);
    this.add({ path, a, b: identifyAt(next) });
  }

  /** What the job saw in the folder goes, the folder itself stays. */
  emptyHolder(path: string): void {
    this.notes.push(sealNote("holds-hidden", path));
    this.removeHidden(path, (at) => this.remove(at));
  }

  /** Removes the entries that an opaque folder hides. */
  removeHidden(path: string, remove: (path: string) => void): void {
    const taken = namesTakenFromLower(this.place.root, path);
    taken.paths.forEach(remove);
    this.noText.push(...taken.noText);
  }
}

/** Moves the files of an upper into slots. */
class MovingSeal extends UpperSeal {
  /** Files that were written and have their earlier content. */
  readonly touched: string[] = [];
  readonly attributed: number[] = [];
  readonly linked: number[] = [];

  constructor(
    place: SealPlace,
    private readonly ahead: FlushAhead,
  ) {
    super(place, createAnchors());
  }

  take(entry: UpperEntry): void {
    const { path, kind, stats } = entry;
    const { root, sight } = this.place;
    // Looked up once: a name of this length costs as much as a call of the system.
    const original = `${root.path}/${path}`;
    const seen = sight.file(original);
    const a = this.asOf(path, original, seen);
    switch (kind) {
      case "gone":
        if (this.holders.has(path)) this.emptyHolder(path);
        // The kernel marks only entries that existed. If the entry is missing and was never recorded, another program deleted it.
        else if (a === null && sight.existed(original) === undefined)
          this.add({ path, a: GONE_SINCE, b: null });
        else this.remove(path);
        break;
      case "directory":
      case "opaque":
        if (kind === "directory" && a?.kind !== "directory" && baseOfFolder(root, path, sight) !== null)
          break;
        this.addFolder(path, a, stats);
        if (kind === "opaque" && a?.kind === "directory") this.removeHidden(path, (at) => this.remove(at));
        break;
      case "file":
      case "symlink":
        if (this.holders.has(path)) this.emptyHolder(path);
        else this.#takeFile(entry, original, seen, a);
        break;
      case "other":
        this.notes.push(sealNote("special", path));
        break;
      case "no-text":
        this.noText.push(path);
        break;
    }
  }

  #takeFile(
    { path, kind, stats, near }: UpperEntry,
    original: string,
    seen: SeenFile | undefined,
    a: Identity | null,
  ): void {
    const upper = `${this.place.root.upper}/${path}`;
    const now = Identity.of(stats);
    const area = this.area(path);
    const isIndex = isIndexFile(path, area);
    const read = kind === "file" && !isIndex ? readEntry(near ?? upper, stats.size) : null;
    const bHash = read?.hash ?? hashAt(upper, now, isIndex);
    const aHash = baseHash(original, a, seen, isIndex);
    if (a !== null) {
      const attributes = {
        fromAttributes: seen?.attributes ?? null,
        toAttributes: read?.attributes ?? null,
        names: seen?.names,
      };
      const compared = { a, b: now, aHash, bHash, isIndex, from: original, to: upper, ...attributes };
      const isSame = !a.isUnknown() && isVisiblySame(compared);
      if (isSame || (area === "file" && onlyModeDiffers(compared))) {
        if (!isSame) this.add({ path, a, b: a.withMode(now.mode), aHash, bHash, inPlace: true, area });
        else if (area === "file" && !a.isWrittenWith(now)) this.touched.push(path);
        this.ahead.onPassed();
        return;
      }
    }
    const slot = this.nextSlot();
    takeOut(upper, () => renameQuickly(near ?? upper, slot));
    const isBare = read?.isBare === true;
    if (kind === "file" && !isBare) stripMarks(slot, now.mode);
    if (!isBare) this.attributed.push(this.next);
    if (a?.kind === "file" && seen?.names !== 1) this.linked.push(this.next);
    // A rename changes only the change time, which no plan depends on.
    this.add({ path, a, b: isBare ? Identity.of(read.stats) : identifyAt(slot), aHash, bHash, area });
    this.ahead.onSlot();
    this.place.sight.forget(original);
  }
}

/** Turns the entries of a job's upper into ops and moves its files into slots, while the disk starts to write. */
export async function sealUpper(place: SealPlace, ahead: FlushAhead): Promise<WholeSealedRoot> {
  const { root, index } = place;
  const breath = createBreath();
  const sweep = createSweep();
  const rootMode = index === 0 ? keptRoot(root.path, root.upper) : [];
  const seal = new MovingSeal(place, ahead);
  const { ops, notes, tooDeep } = seal;
  const unreadable: WalkOptions["unreadable"] = (path, why) => {
    if (why?.tooLong) tooDeep.push(path);
    else notes.push(sealNote("unreadable", path));
  };
  const options = { unlock: true, unreadable };
  // Folders that were moved as a whole have nothing in the upper yet.
  const isMoved = ({ source }: UpperEntry) => source !== undefined;
  const moved = mayHaveMovedFolders(root) ? [...walkUpper(root, options).filter(isMoved)] : [];
  if (tooDeep.length > 0) return seal;
  if (moved.length > 0) settleMoves(root, moved);
  notes.length = 0;
  // Files leave the upper while it is walked, so the names in a folder are read before the first one is moved.
  for (const entry of walkUpper(root, options)) {
    if (tooDeep.length > 0) break;
    sweep();
    if (breath.isDue()) {
      seal.anchors?.close();
      await breath.take();
    }
    seal.take(entry);
  }
  seal.anchors?.close();
  notes.push(...rootMode, ...keptTimes(ops, seal.touched));
  if (tooDeep.length > 0) ops.length = 0;
  return seal;
}

/** The folder of the workspace below a folder of an upper; null where the job made it. One that the kernel marks as copied up existed. */
export function baseOfFolder(root: LaidRoot, path: string, sight: FirstSight): FolderBase | null {
  const mark = `${root.redirects ? "trusted" : "user"}.overlay.origin`;
  const base = sight.folder(join(root.path, path));
  return base ?? (getXattr(join(root.upper, path), mark).ok ? NO_FOLDER : null);
}

/** The hash of the entry at the start; a recorded one is not read again, and one that was touched since cannot be. */
function baseHash(
  absolute: string,
  a: Identity | null,
  seen: SeenFile | undefined,
  isIndex: boolean,
): string | undefined {
  if (a === null || a.isUnknown()) return undefined;
  return seen === undefined ? hashAt(absolute, a, isIndex) : seen.hash;
}

/** The entry when the job began, which an overlay does not record. One touched since matches nothing: the commit must find a conflict. */
function entryAtBegin(
  root: string,
  path: string,
  stamp: bigint,
  existed: boolean | undefined,
  anchors?: Anchors,
): Identity | null {
  if (existed === false) return null;
  const now = identify(root, path, anchors);
  if (now === null) return existed === true ? GONE_SINCE : null;
  if (now.kind === "directory" || BigInt(now.ctime) < stamp) return now;
  return now.asUnknown();
}

/** Matches no real entry. */
const GONE_SINCE = new Identity("file", 0, 0, 0, 0, 0, 0, 0, 0, 0);

type SeenUpperEntry = Pick<UpperEntry, "kind" | "stats">;

export type UpperLook = ReadonlyMap<string, SeenUpperEntry>;

export function lookAtUpper(root: LaidRoot, unreadable: WalkOptions["unreadable"] = () => {}): UpperLook {
  const look = new Map<string, SeenUpperEntry>();
  for (const { path, kind, stats } of walkUpper(root, { unreadable })) look.set(path, { kind, stats });
  return look;
}

export interface DeltaSealDeps extends SealPlace {
  readonly before: UpperLook;
  /** Absolute paths of the workspace that the job may not keep, with all below. */
  readonly leftOut: readonly string[];
}

/**
 * Turns one job's changes to an upper that stays in use into ops, copying its files into slots. Only differences from the start of
 * the job count: results of earlier jobs are in the workspace, or were changed there since.
 */
export function sealDelta(deps: DeltaSealDeps): SealedRoot {
  const { root, before } = deps;
  const seal = new UpperSeal(deps);
  const { ops, noText, notes, tooDeep } = seal;
  const isLeftOut = (path: string) => {
    const absolute = join(root.path, path);
    return deps.leftOut.some((out) => absolute === out || absolute.startsWith(`${out}/`));
  };
  const remove = (path: string) => {
    if (!isLeftOut(path)) seal.remove(path);
  };

  function takeFolder(path: string, kind: "directory" | "opaque", stats: EntryStats): void {
    const a = seal.asOf(path);
    seal.addFolder(path, a, stats);
    if (kind === "opaque" && a?.kind === "directory" && before.get(path)?.kind !== "opaque")
      seal.removeHidden(path, remove);
  }

  function takeFile(path: string, kind: "file" | "symlink"): void {
    const a = seal.asOf(path);
    const isIndex = isIndexFile(path, seal.area(path));
    const [from, to] = [join(root.path, path), join(root.upper, path)];
    const now = identifyAt(to) as Identity;
    const bHash = hashAt(to, now, isIndex);
    const aHash = seal.hashOf(path, a);
    if (a !== null && !a.isUnknown() && isVisiblySame({ a, b: now, aHash, bHash, isIndex, from, to })) return;
    const slot = seal.nextSlot();
    copyEntry(to, slot);
    if (kind === "file") stripMarks(slot);
    seal.add({ path, a, b: identifyAt(slot), aHash, bHash });
  }

  const after = new Map(lookAtUpper(root, (path, why) => void (why?.tooLong && tooDeep.push(path))));
  if (tooDeep.length > 0) return seal;
  for (const [path, { kind, stats }] of after) {
    const was = before.get(path);
    if (isLeftOut(path) || (was !== undefined && isSameUpperEntry(was, { kind, stats }))) continue;
    if (kind === "no-text") noText.push(path);
    else if (kind === "gone") remove(path);
    else if (kind === "directory" || kind === "opaque") takeFolder(path, kind, stats);
    else if (kind === "file" || kind === "symlink") takeFile(path, kind);
    else notes.push(sealNote("special", path));
  }
  // An entry that an earlier job had made is removed without a mark: there was nothing below it.
  const planned = new Set(ops.map(({ path }) => path));
  for (const [path, { kind }] of before) {
    if (kind === "gone" || kind === "other" || after.has(path) || planned.has(path)) continue;
    const parent = dirname(path);
    const stays = parent === "." || isFolder(after.get(parent)?.kind);
    if (!stays) continue;
    if (kind === "no-text") noText.push(path);
    else remove(path);
  }
  return seal;
}

function isFolder(kind: UpperEntry["kind"] | undefined): boolean {
  return kind === "directory" || kind === "opaque";
}

/** A folder is implied by its entries; only its mode and its kind are compared. */
function isSameUpperEntry(a: SeenUpperEntry, b: SeenUpperEntry): boolean {
  if (a.kind !== b.kind) return false;
  if (isFolder(a.kind)) return a.stats.mode === b.stats.mode;
  return a.stats.ctimeNs === b.stats.ctimeNs && a.stats.ino === b.stats.ino;
}
