import { type BigIntStats, chmodSync, lstatSync, statSync } from "node:fs";
import { namesIn, walkBytes } from "./byte-names.ts";

export interface WalkedEntry {
  readonly path: string;
  readonly stats: BigIntStats;
  /** Its name, or that of a folder above it, is no UTF-8: `path` is for people to read, and leads nowhere. */
  readonly noText?: true;
}

export interface WalkOptions {
  /** Returns false to leave a path, and all below it, out. */
  readonly enter?: (path: string, stats: BigIntStats) => boolean;
  /** Called for a folder that cannot be listed, one on another file system, or a name that cannot be looked at. */
  readonly unreadable?: (path: string) => void;
  /** Names that are no UTF-8 come too. Default: they are `unreadable`, under a name for people. */
  readonly noText?: boolean;
  /** Opens folders whose mode shuts out their owner; `stats` still tell the mode they had. */
  readonly unlock?: boolean;
}

/**
 * Every entry below `root`, parents before children, no symlink followed, other file systems not entered.
 */
export function* walkFolder(root: string, options: WalkOptions = {}): Generator<WalkedEntry> {
  // Followed: a root may be named through a descriptor (`/proc/self/fd/N`).
  const device = statSync(root, { bigint: true }).dev;
  const pending: string[] = [""];
  while (pending.length > 0) {
    const folder = pending.pop() as string;
    const within = folder === "" ? root : `${root}/${folder}`;
    let names: ReturnType<typeof namesIn>;
    try {
      names = namesIn(within);
    } catch {
      options.unreadable?.(folder);
      continue;
    }
    for (const { shown, stats } of walkBytes(within, folder, names.bytes)) {
      if (options.noText === true) yield { path: shown, stats, noText: true };
      else options.unreadable?.(shown);
    }
    for (const name of names.texts) {
      const path = folder === "" ? name : `${folder}/${name}`;
      const stats = statEntry(`${root}/${path}`);
      if (stats === null) {
        options.unreadable?.(path);
        continue;
      }
      if (options.enter?.(path, stats) === false) continue;
      if (options.unlock && stats.isDirectory()) unlockFolder(`${root}/${path}`, stats);
      yield { path, stats };
      if (stats.isDirectory()) {
        if (stats.dev === device) pending.push(path);
        else options.unreadable?.(path);
      }
    }
  }
}

/** Root passes every door; others open their own. */
export function unlockFolder(path: string, stats: BigIntStats): void {
  if ((stats.mode & 0o700n) === 0o700n || process.getuid?.() === 0) return;
  try {
    chmodSync(path, Number(stats.mode & 0o7777n) | 0o700);
  } catch {
    // Somebody else's folder: the walk says that it cannot be read.
  }
}

function statEntry(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
