import { type BigIntStats, chmodSync, lstatSync, readdirSync, statSync } from "node:fs";

export interface Walked {
  readonly path: string;
  readonly stats: BigIntStats;
}

export interface WalkOptions {
  /** Returns false to leave a path, and all below it, out. */
  readonly enter?: (path: string, stats: BigIntStats) => boolean;
  /** Called for a folder that cannot be listed, one on another file system, or a name that cannot be looked at. */
  readonly unreadable?: (path: string) => void;
  /** Opens folders whose mode shuts out their owner; `stats` still tell the mode they had. */
  readonly unlock?: boolean;
}

/**
 * Every entry below `root`, parents before children, no symlink followed, other file systems not entered.
 * A name that is not UTF-8 cannot be said as text: it is `unreadable` under the name that the decoder made of it.
 */
export function* walk(root: string, options: WalkOptions = {}): Generator<Walked> {
  // Followed: a root may be named through a descriptor (`/proc/self/fd/N`).
  const device = statSync(root, { bigint: true }).dev;
  const pending: string[] = [""];
  while (pending.length > 0) {
    const folder = pending.pop() as string;
    let names: string[];
    try {
      names = readdirSync(folder === "" ? root : `${root}/${folder}`);
    } catch {
      options.unreadable?.(folder);
      continue;
    }
    for (const name of names) {
      const path = folder === "" ? name : `${folder}/${name}`;
      const stats = lookAt(`${root}/${path}`);
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

function lookAt(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
