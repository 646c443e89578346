import { closeSync, openSync } from "node:fs";
import { DEAD_AFTER_MS } from "../../../application/ports/work-queue.ts";
import { flock } from "../../runtime/file-lock.ts";
import { createHolderWatch } from "./stopped-holder.ts";

export interface LockTimes {
  readonly timeoutMs: number;
  /** After which a holder that is stopped is ended. */
  readonly deadAfterMs?: number;
}

/**
 * Holds the kernel locks of folders while `use` runs. Each lock is on the folder itself, so every process of every
 * user agrees on it, and it goes with the process that held it. Taken in one order, so that two jobs whose
 * workspaces share a repository wait for each other and never for ever.
 */
export async function withFolderLocks<T>(
  folders: readonly string[],
  { timeoutMs, deadAfterMs = DEAD_AFTER_MS }: LockTimes,
  use: () => Promise<T> | T,
): Promise<T | "busy"> {
  const held: number[] = [];
  const deadline = performance.now() + timeoutMs;
  try {
    for (const folder of [...new Set(folders)].sort()) {
      const fd = openSync(folder, "r");
      held.push(fd);
      const locked = await flock(fd, "exclusive", {
        timeoutMs: Math.max(0, deadline - performance.now()),
        onBusy: createHolderWatch({ folder, deadAfterMs, clock: () => performance.now() }),
      });
      if (!locked.ok && locked.reason === "timed-out") return "busy";
    }
    return await use();
  } finally {
    for (const fd of held) closeSync(fd);
  }
}
