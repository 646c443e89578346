import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} from "node:fs";
import { hasWriters } from "../platform/file-lease.ts";

export interface OpenFile {
  readonly path: string;
  readonly process: string;
}

export interface WatchedPaths {
  /** By device and inode. */
  readonly files: ReadonlyMap<string, WatchedFile>;
  /** Folders of which everything below counts. */
  readonly folders: readonly WatchedFolder[];
}

export interface WatchedFile {
  /** Where it lies now. */
  readonly at: string;
  /** The path by which it is told. */
  readonly told: string;
}

export interface WatchedFolder {
  readonly at: string;
  readonly told: string;
  /** Device and inode of each file below, with its path there; asked for only when a process in another world has files open. */
  readonly below: () => ReadonlyMap<string, string>;
}

/** A descriptor's link in /proc is writable when the descriptor is. */
const WRITABLE = 0o200n;

export function fileKey({
  dev,
  ino,
}: {
  readonly dev: bigint | string;
  readonly ino: bigint | string;
}): string {
  return `${dev}:${ino}`;
}

/**
 * Which of the watched files another process holds open for writing. Replacing such a file by rename would cut that
 * process off from it. Files are told by device and inode: a process in another mount namespace knows them under other
 * paths. Linux; elsewhere nothing is seen.
 */
export function openForWriting({ files, folders }: WatchedPaths): OpenFile[] {
  if (process.platform !== "linux" || (files.size === 0 && folders.length === 0)) return [];
  if (folders.length === 0 && nobodyWrites(files)) return [];
  const found: OpenFile[] = [];
  const ours = namespaceOf("self");
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) continue;
    let isAbroad: boolean | undefined;
    for (const fd of descriptors(pid)) {
      const link = `/proc/${pid}/fd/${fd}`;
      const stats = writableFile(link);
      if (stats === null) continue;
      const key = fileKey(stats);
      let path = files.get(key)?.told;
      if (path === undefined && folders.length > 0) {
        isAbroad ??= namespaceOf(pid) !== ours;
        path = isAbroad ? belowByInode(folders, key) : belowByPath(folders, link);
      }
      if (path !== undefined) found.push({ path, process: `${commandName(pid)} (pid ${pid})` });
    }
  }
  return found;
}

/** To ask the kernel of one file after the other pays for a few of them; of many, whoever has files open is asked. */
const ASKED_ONE_BY_ONE = 200;
const LOOK = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** True when the kernel says so of each; false when somebody does, or nothing is known. */
function nobodyWrites(files: WatchedPaths["files"]): boolean {
  if (files.size > ASKED_ONE_BY_ONE) return false;
  for (const [key, { at }] of files) if (!readOrNull(() => isWithoutWriters(at, key))) return false;
  return true;
}

function isWithoutWriters(at: string, key: string): boolean {
  const fd = openSync(at, LOOK);
  try {
    if (fileKey(fstatSync(fd, { bigint: true })) !== key) return false;
    const asked = hasWriters(fd);
    return asked.ok && !asked.value;
  } finally {
    closeSync(fd);
  }
}

function belowByPath(folders: readonly WatchedFolder[], link: string): string | undefined {
  const target = readOrNull(() => readlinkSync(link)) ?? "";
  const folder = folders.find(({ at }) => target.startsWith(`${at}/`));
  return folder === undefined ? undefined : folder.told + target.slice(folder.at.length);
}

function belowByInode(folders: readonly WatchedFolder[], key: string): string | undefined {
  for (const { told, below } of folders) {
    const path = below().get(key);
    if (path !== undefined) return `${told}/${path}`;
  }
  return undefined;
}

function writableFile(link: string): BigIntStats | null {
  const shown = readOrNull(() => lstatSync(link, { bigint: true, throwIfNoEntry: false }));
  if (shown === undefined || shown === null || (shown.mode & WRITABLE) === 0n) return null;
  const stats = readOrNull(() => statSync(link, { bigint: true, throwIfNoEntry: false })) ?? null;
  return stats?.isFile() === true ? stats : null;
}

function namespaceOf(pid: string): string | null {
  return readOrNull(() => readlinkSync(`/proc/${pid}/ns/mnt`));
}

function descriptors(pid: string): string[] {
  return readOrNull(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
}

function commandName(pid: string): string {
  return readOrNull(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim()) ?? "?";
}

/** Processes end and belong to others while one looks at them. */
function readOrNull<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null;
  }
}
