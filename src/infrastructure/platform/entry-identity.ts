import { chmodSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { divideTime, type EntryStats, exactNumber, lstatEntry, nanosecondsText } from "./entry-stats.ts";
import { type Anchors, inParent } from "./open-folder.ts";

export type EntryKind = "file" | "directory" | "symlink" | "other";

/** An identity in the records of jobs, without names: there are so many. An inode beyond the exact numbers is a text. */
type PrintedIdentity = Readonly<ConstructorParameters<typeof Identity>>;

export type StoredIdentity = WrittenIdentity | PrintedIdentity;

/** An identity as it is written elsewhere, and in old records. Times are in nanoseconds, as text: as numbers they would not be exact. */
export interface WrittenIdentity {
  readonly kind: EntryKind;
  readonly ino: string;
  readonly mode: number;
  readonly size: number;
  readonly mtime: string;
  readonly ctime: string;
  readonly uid: number;
  readonly gid: number;
}

/** The entry at a path, to tell later whether it is the same and untouched. Times become text on request; `...` does not copy them. */
export class Identity implements WrittenIdentity {
  constructor(
    readonly kind: EntryKind,
    readonly mode: number,
    readonly size: number,
    readonly uid: number,
    readonly gid: number,
    private readonly inode: number | bigint,
    private readonly modified: number,
    private readonly modifiedNs: number,
    private readonly changed: number,
    private readonly changedNs: number,
  ) {}

  static of(stats: EntryStats): Identity {
    return new Identity(
      kindOf(stats),
      stats.permissions,
      stats.size,
      stats.uid,
      stats.gid,
      stats.inode,
      stats.modified,
      stats.modifiedNs,
      stats.changed,
      stats.changedNs,
    );
  }

  static read(written: StoredIdentity): Identity {
    if (!("kind" in written)) {
      const [kind, mode, size, uid, gid, inode, ...times] = written;
      return new Identity(kind, mode, size, uid, gid, readInode(inode), ...times);
    }
    const { kind, mode, size, uid, gid } = written;
    const [modified, modifiedNs] = readTime(written.mtime);
    const [changed, changedNs] = readTime(written.ctime);
    const inode = readInode(written.ino);
    return new Identity(kind, mode, size, uid, gid, inode, modified, modifiedNs, changed, changedNs);
  }

  get ino(): string {
    return String(this.inode);
  }

  get mtime(): string {
    return nanosecondsText(this.modified, this.modifiedNs);
  }

  get ctime(): string {
    return nanosecondsText(this.changed, this.changedNs);
  }

  withMode(mode: number): Identity {
    return this.copy({ mode });
  }

  /** An entry that nothing is the same as. */
  asUnknown(): Identity {
    return this.copy({ inode: 0, changed: 0, changedNs: 0 });
  }

  isUnknown(): boolean {
    return this.changed === 0 && this.changedNs === 0;
  }

  /** The same inode with any contents. */
  withAnyContents(): Identity {
    return this.copy({ modified: ANY_SECOND });
  }

  /** The same inode, with the same contents as far as its times tell. */
  hasContentsOf(expected: Identity): boolean {
    if (!this.isInodeOf(expected)) return false;
    if (expected.modified === ANY_SECOND || this.kind === "directory") return true;
    return this.size === expected.size && this.isWrittenWith(expected);
  }

  isInodeOf(other: Identity): boolean {
    return this.inode === other.inode && this.kind === other.kind;
  }

  isWrittenWith(other: Identity): boolean {
    return this.modified === other.modified && this.modifiedNs === other.modifiedNs;
  }

  isChangedWith(other: Identity): boolean {
    return this.changed === other.changed && this.changedNs === other.changedNs;
  }

  print(): string {
    const inode = typeof this.inode === "bigint" ? `"${this.inode}"` : this.inode;
    return `["${this.kind}",${this.mode},${this.size},${this.uid},${this.gid},${inode},${this.modified},${this.modifiedNs},${this.changed},${this.changedNs}]`;
  }

  toJSON(): WrittenIdentity {
    const { kind, ino, mode, size, mtime, ctime, uid, gid } = this;
    return { kind, ino, mode, size, mtime, ctime, uid, gid };
  }

  private copy(
    other: Partial<Record<"mode" | "inode" | "modified" | "changed" | "changedNs", number>>,
  ): Identity {
    return new Identity(
      this.kind,
      other.mode ?? this.mode,
      this.size,
      this.uid,
      this.gid,
      other.inode ?? this.inode,
      other.modified ?? this.modified,
      this.modifiedNs,
      other.changed ?? this.changed,
      other.changedNs ?? this.changedNs,
    );
  }
}

/** Before any time that a file can have. */
const ANY_SECOND = Number.NEGATIVE_INFINITY;

/** As long as every time of these centuries; others are read exactly as well. */
const USUAL_TIME = /^\d{19}$/;

function readTime(text: string): readonly [seconds: number, rest: number] {
  if (USUAL_TIME.test(text)) return [Number(text.slice(0, -9)), Number(text.slice(-9))];
  return divideTime(BigInt(text));
}

function readInode(text: string | number | bigint): number | bigint {
  if (typeof text !== "string") return text;
  return text.length < 16 ? Number(text) : exactNumber(BigInt(text));
}

export function kindOf(stats: EntryStats): EntryKind {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "symlink" : "other";
}

/** The identity of `path` below `root`, no symlink followed; null when nothing is there. */
export function identify(root: string, path: string, from = PLAIN): Identity | null {
  // A file system that folds case answers to other spellings, too; an entry is where its folder lists it.
  const isListed = (name: string, at: number, names: readonly string[]) =>
    readdirSync([root, ...names.slice(0, at)].join("/")).includes(name);
  if (foldsCase(root) && !ifThere(false, () => path.split("/").every(isListed))) return null;
  return ifThere(null, () => from.inParent(root, path, (folder, name) => identifyAt(`${folder}/${name}`)));
}

const FOLDING = new Map<string, boolean>();

/** Whether the file system takes `A` for `a`, judged by the folder's own name. */
export function foldsCase(root: string): boolean {
  const known = FOLDING.get(root) ?? identifyAt(root);
  if (known === null || typeof known === "boolean") return known ?? false;
  const swapped = root.replace(/[a-z](?=[^a-z]*$)/i, (c) => (c < "a" ? c.toLowerCase() : c.toUpperCase()));
  return FOLDING.set(root, swapped !== root && identifyAt(swapped)?.ino === known.ino).get(root) === true;
}

const PLAIN: Pick<Anchors, "inParent"> = { inParent };

/** Longer than one tick of any file system clock: a second save within it could leave the same times behind. */
const TICK_MS = 10;

/** Like `identify`, but waits until a later write is certain to change the times. */
export function identifySettled(root: string, path: string): Identity | null {
  const identity = identify(root, path);
  if (identity === null) return null;
  const ageMs = Date.now() - Number(BigInt(identity.ctime) / 1_000_000n);
  // A time far in the future is a clock that was set back: waiting would not help.
  if (Math.abs(ageMs) > TICK_MS) return identity;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TICK_MS + 2);
  return identify(root, path);
}

/** Null also if a parent is a file. */
export function identifyAt(absolute: string): Identity | null {
  const stats = statEntryAt(absolute);
  return stats === undefined ? null : Identity.of(stats);
}

/** Undefined also if a parent is a file. */
export function statEntryAt(absolute: string): EntryStats | undefined {
  return ifThere(undefined, () => lstatEntry(absolute));
}

/** Calls `look`; returns `fallback` if it throws because the entry or a folder of its path does not exist. */
export function ifThere<T, F>(fallback: F, look: () => T): T | F {
  try {
    return look();
  } catch (error) {
    if (isAbsence(error)) return fallback;
    throw error;
  }
}

export function isAbsence(error: unknown): boolean {
  const code = (error as { code?: string }).code;
  return code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP";
}

/** The same thing, and nothing happened to it. */
export function sameUntouched(a: Identity | null, b: Identity | null): boolean {
  if (a === null || b === null) return a === b;
  return a.isChangedWith(b) && sameBody(a, b);
}

/** The same inode with the same contents as far as its times tell; links and renames do not matter. */
export function sameBody(a: Identity, b: Identity): boolean {
  return a.isInodeOf(b) && a.mode === b.mode && a.size === b.size && a.isWrittenWith(b);
}

/** Replaces the bytes of an existing file; follows no symlink and keeps the mode, unless it is the one that `mode` replaces. */
export function rewriteFile(
  root: string,
  path: string,
  bytes: Uint8Array,
  mode?: { readonly was: number | undefined; readonly now: number },
): void {
  inParent(root, path, (folder, name) => {
    const at = `${folder}/${name}`;
    const stats = lstatSync(at);
    if (!stats.isFile()) return;
    chmodSync(at, 0o600);
    writeFileSync(at, bytes);
    const own = stats.mode & 0o7777;
    chmodSync(at, own === mode?.was ? mode.now : own);
  });
}

/** A path below a root as it is shown for a workspace, which usually is that root. */
export function shownBelow(workspace: string, root: string, path: string): string {
  return root === workspace ? path : pathBelow(workspace, `${root}/${path}`);
}

/** The way from a folder to a path, both absolute and plain. `relative` looks at every character, which tells with thousands. */
export function pathBelow(folder: string, path: string): string {
  return path.startsWith(folder) && path[folder.length] === "/"
    ? path.slice(folder.length + 1)
    : relative(folder, path);
}
