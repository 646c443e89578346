import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { relative } from "node:path";
import type { Entry, EntryState } from "../../application/ports/jobs-transaction.ts";
import { collectGarbage } from "../platform/unattended.ts";

/** Linux only; elsewhere a plain O_RDONLY descriptor serves (it needs read permission on the folder). */
const O_PATH = process.platform === "linux" ? 0o10000000 : 0;
const DIRECTORY = constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH;

/**
 * Runs `use` with a name for the folder that holds `path`, reached component by component from `root` without
 * following a symlink. On Linux the name goes through an open descriptor (`/proc/self/fd/N`), so a component
 * that is swapped for a symlink afterwards changes nothing. Elsewhere each component is checked before use.
 */
export function inParent<T>(root: string, path: string, use: (folder: string, name: string) => T): T {
  const slash = path.lastIndexOf("/");
  const name = path.slice(slash + 1);
  if (name === ".." || name === ".") throw missingNameError(path);
  if (slash < 0) return use(root, name);
  return inFolder(root, path.slice(0, slash), (folder) => use(folder, name));
}

export function inFolder<T>(root: string, path: string, use: (folder: string) => T): T {
  if (path === "") return use(root);
  if (UPWARDS.test(path)) throw missingNameError(path);
  if (process.platform !== "linux") return use(checkedFolder(root, path));
  const fd = openFolder(root, path);
  try {
    return use(`/proc/self/fd/${fd}`);
  } finally {
    closeSync(fd);
  }
}

export interface Anchors {
  readonly inParent: typeof inParent;
  readonly close: () => void;
}

/**
 * `inParent` for many paths in a row, of which neighbours share their folder: the last folder stays open for the next
 * path. Only where nothing is moved in between: what was opened stays what it is, wherever it goes.
 */
export function createAnchors(): Anchors {
  let held: { readonly key: string; readonly fd: number } | null = null;
  const close = () => {
    if (held !== null) closeSync(held.fd);
    held = null;
  };
  return {
    close,
    inParent(root, path, use) {
      const slash = path.lastIndexOf("/");
      const folder = path.slice(0, slash);
      if (process.platform !== "linux" || slash < 0 || UPWARDS.test(path)) return inParent(root, path, use);
      const key = `${root}\0${folder}`;
      if (held?.key !== key) {
        close();
        held = { key, fd: openFolder(root, folder) };
      }
      return use(`/proc/self/fd/${held.fd}`, path.slice(slash + 1));
    },
  };
}

function openFolder(root: string, path: string): number {
  let fd = -1;
  try {
    for (const part of path.split("/")) {
      const from = fd < 0 ? root : `/proc/self/fd/${fd}`;
      const next = openSync(`${from}/${part}`, DIRECTORY);
      if (fd >= 0) closeSync(fd);
      fd = next;
    }
    return fd;
  } catch (error) {
    if (fd >= 0) closeSync(fd);
    throw error;
  }
}

/** Callers resolve paths first; a component that leads upwards has no business here. */
const UPWARDS = /(^|\/)\.\.?(\/|$)/;

function missingNameError(path: string): Error {
  return Object.assign(new Error(`ENOENT: not a plain path: '${path}'`), { code: "ENOENT" });
}

function checkedFolder(root: string, path: string): string {
  let at = root;
  for (const part of path.split("/")) {
    at = `${at}/${part}`;
    if (!lstatSync(at).isDirectory()) {
      throw Object.assign(new Error(`ENOTDIR: not a directory, open '${at}'`), { code: "ENOTDIR" });
    }
  }
  return at;
}

/** So many of the system's stats, of a thousand bytes each, are not left to wait for the runtime's own collection. */
const COLLECTED_AFTER = 20_000;
const stats = { taken: 0 };

/** For whoever takes the stats of an entry, in jobs of any number of entries. */
export function countStats(): void {
  stats.taken += 1;
  if (stats.taken % COLLECTED_AFTER === 0) collectGarbage();
}

export type EntryKind = "file" | "directory" | "symlink" | "other";

/**
 * The identity of the entry at a path: enough to determine later whether it is still the same and untouched.
 * Times are in nanoseconds, as text, because they travel through JSON.
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
  countStats();
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

/** The current entry at a path below a root, no symlink followed. */
export function currentEntryBelow(root: string, path: string): EntryState | null {
  const found = path === "" ? null : identify(root, path);
  return found === null ? null : { kind: found.kind, mode: found.mode, size: found.size };
}

export function toStanding(entry: Entry): EntryState | null {
  switch (entry.kind) {
    case "missing":
      return null;
    case "file":
      return { kind: entry.kind, mode: entry.mode, size: entry.size };
    case "directory":
      return { kind: entry.kind, mode: entry.mode, size: 0 };
    case "symlink":
    case "other":
      return { kind: entry.kind, mode: 0o777, size: 0 };
  }
}

/** Other bytes for a file that stands; no symlink is followed, its mode stays. */
export function rewriteFile(root: string, path: string, bytes: Uint8Array): void {
  inParent(root, path, (folder, name) => {
    const at = `${folder}/${name}`;
    const stats = lstatSync(at);
    if (!stats.isFile()) return;
    chmodSync(at, 0o600);
    writeFileSync(at, bytes);
    chmodSync(at, stats.mode & 0o7777);
  });
}

/** The entry at an absolute path, the last component not followed. */
export function readEntryAt(absolute: string): Entry {
  const stats = lstatSync(absolute, { throwIfNoEntry: false });
  if (stats === undefined) return { kind: "missing" };
  if (stats.isFile()) return { kind: "file", mode: stats.mode & 0o7777, size: stats.size };
  if (stats.isDirectory()) return { kind: "directory", mode: stats.mode & 0o7777 };
  return stats.isSymbolicLink() ? { kind: "symlink", target: readlinkSync(absolute) } : { kind: "other" };
}

/** The way from a folder to a path, both absolute and plain. `relative` looks at every character, which tells with thousands. */
export function pathBelow(folder: string, path: string): string {
  return path.startsWith(folder) && path[folder.length] === "/"
    ? path.slice(folder.length + 1)
    : relative(folder, path);
}
