import { type BigIntStats, lstatSync } from "node:fs";
import { type Anchors, inParent } from "./anchor.ts";

export type EntryKind = "file" | "directory" | "symlink" | "other";

/**
 * Who stands at a path: enough to say later whether it is still the same thing, untouched. Times are in
 * nanoseconds, as text, because they travel through JSON.
 */
export interface Identity {
  readonly kind: EntryKind;
  readonly ino: string;
  readonly mode: number;
  readonly size: number;
  readonly mtime: string;
  readonly ctime: string;
  readonly uid: number;
  readonly gid: number;
}

export function kindOf(stats: BigIntStats): EntryKind {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "symlink" : "other";
}

export function identityOf(stats: BigIntStats): Identity {
  return {
    kind: kindOf(stats),
    ino: String(stats.ino),
    mode: Number(stats.mode & 0o7777n),
    size: Number(stats.size),
    mtime: String(stats.mtimeNs),
    ctime: String(stats.ctimeNs),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
  };
}

/** The identity of `path` below `root`, no symlink followed; null when nothing is there. */
export function identify(
  root: string,
  path: string,
  from: Pick<Anchors, "inParent"> = PLAIN,
): Identity | null {
  try {
    return from.inParent(root, path, (folder, name) => identifyAt(`${folder}/${name}`));
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}

const PLAIN = { inParent };

/** Longer than one tick of any file system clock: a second save within it could leave the same times behind. */
const TICK_MS = 10;

/** Like `identify`, but waits until a write that comes after it is sure to show in the times. */
export function identifySettled(root: string, path: string): Identity | null {
  const identity = identify(root, path);
  if (identity === null) return null;
  const ageMs = Date.now() - Number(BigInt(identity.ctime) / 1_000_000n);
  // A time far in the future is a clock that was set back: waiting would not help.
  if (Math.abs(ageMs) > TICK_MS) return identity;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TICK_MS + 2);
  return identify(root, path);
}

/** Null also where a file stands in the place of a parent. */
export function identifyAt(absolute: string): Identity | null {
  try {
    const stats = lstatSync(absolute, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? null : identityOf(stats);
  } catch (error) {
    if (isAbsence(error)) return null;
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
  return a.ctime === b.ctime && sameBody(a, b);
}

/** The same inode with the same contents as far as its times tell; links and renames do not matter. */
export function sameBody(a: Identity, b: Identity): boolean {
  return (
    a.kind === b.kind && a.ino === b.ino && a.mode === b.mode && a.size === b.size && a.mtime === b.mtime
  );
}
