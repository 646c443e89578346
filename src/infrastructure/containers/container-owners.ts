import { closeSync, mkdirSync, openSync, readdirSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { tryFlock } from "../platform/file-lock.ts";

/**
 * Who made a container is still there as long as it holds the lock on its file: the kernel lets go of it with the
 * process, however that ends. No clocks, no heartbeats that come too late.
 */
export interface Owners {
  /** This process. Its lock is taken at the first call. */
  readonly own: () => string;
  readonly isAlive: (owner: string) => boolean;
  /** Whether another process of this installation is there. */
  readonly hasOthers: () => boolean;
  /** Forgets the files of those who are gone. */
  readonly sweep: () => void;
  readonly close: () => void;
}

export function createOwners({
  folder,
  newId,
}: {
  readonly folder: string;
  readonly newId: () => string;
}): Owners {
  const state: { held?: { readonly id: string; readonly fd: number } } = {};
  const fileOf = (id: string) => join(folder, `${id}.lock`);
  const isAlive = (id: string) => {
    if (state.held?.id === id) return true;
    if (!/^[\w-]+$/.test(id)) return false;
    try {
      const fd = openSync(fileOf(id), "r");
      const free = tryFlock(fd, "exclusive").ok;
      closeSync(fd);
      return !free;
    } catch {
      return false;
    }
  };
  const known = () =>
    safeList(folder)
      .filter((name) => name.endsWith(".lock"))
      .map((name) => name.slice(0, -".lock".length));
  return {
    own() {
      if (state.held) return state.held.id;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const id = newId();
      // Locked before it has its name: nobody sees it free.
      const fresh = join(folder, `${id}.new`);
      const fd = openSync(fresh, "wx", 0o600);
      writeSync(fd, `${process.pid}\n`);
      tryFlock(fd, "exclusive");
      renameSync(fresh, fileOf(id));
      state.held = { id, fd };
      return id;
    },
    isAlive,
    hasOthers: () => known().some((id) => id !== state.held?.id && isAlive(id)),
    sweep() {
      for (const id of known()) {
        if (isAlive(id)) continue;
        try {
          unlinkSync(fileOf(id));
        } catch {
          // Somebody else swept it.
        }
      }
    },
    close() {
      if (!state.held) return;
      try {
        unlinkSync(fileOf(state.held.id));
      } catch {
        // Gone already.
      }
      closeSync(state.held.fd);
      delete state.held;
    },
  };
}

function safeList(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
