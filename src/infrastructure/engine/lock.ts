import { closeSync, openSync } from "node:fs";
import { DEAD_AFTER_MS } from "../../application/ports/work-queue.ts";
import { flock } from "../platform/file-lock.ts";
import type { HolderRecords } from "./holder-records.ts";
import { createHolderWatch } from "./folder-lock.ts";

export interface LockOptions {
  readonly timeoutMs: number;
  readonly holders: HolderRecords;
  /** After which a holder that is stopped is ended. */
  readonly deadAfterMs?: number | undefined;
  /** Called with its process number. */
  readonly onEnded?: ((pid: number) => void) | undefined;
}

/**
 * Holds the kernel locks of folders while `use` runs. Each lock is on the folder itself, so every process of every
 * user agrees on it, and it goes with the process that held it. Taken in one order, so that two jobs whose
 * workspaces share a repository wait for each other and never for ever.
 */
export async function withFolderLocks<T>(
  folders: readonly string[],
  { timeoutMs, holders, deadAfterMs = DEAD_AFTER_MS, onEnded = () => {} }: LockOptions,
  use: () => Promise<T> | T,
): Promise<T | "busy"> {
  const held: (() => void)[] = [];
  const deadline = performance.now() + timeoutMs;
  try {
    for (const folder of [...new Set(folders)].sort()) {
      const fd = openSync(folder, "r");
      held.push(() => closeSync(fd));
      // Before the lock: one that is stopped right after it was taken is known, too.
      held.push(holders.note(fd));
      const locked = await flock(fd, "exclusive", {
        timeoutMs: Math.max(0, deadline - performance.now()),
        onBusy: createHolderWatch({ fd, holders, deadAfterMs, clock: () => performance.now(), onEnded }),
      });
      if (!locked.ok && locked.reason === "timed-out") return "busy";
    }
    return await use();
  } finally {
    for (const release of held) release();
  }
}
