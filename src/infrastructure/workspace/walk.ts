import { type BigIntStats, lstatSync, readdirSync } from "node:fs";

export interface Walked {
  readonly path: string;
  readonly stats: BigIntStats;
}

export interface WalkOptions {
  /** Returns false to leave a path, and all below it, out. */
  readonly enter?: (path: string, stats: BigIntStats) => boolean;
  /** Called for a folder that cannot be listed or a name that cannot be looked at. */
  readonly unreadable?: (path: string) => void;
}

/** Every entry below `root`, parents before children, no symlink followed, other file systems not entered. */
export function* walk(root: string, options: WalkOptions = {}): Generator<Walked> {
  const device = lstatSync(root, { bigint: true }).dev;
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
      yield { path, stats };
      if (stats.isDirectory()) {
        if (stats.dev === device) pending.push(path);
        else options.unreadable?.(path);
      }
    }
  }
}

function lookAt(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
