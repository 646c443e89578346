import { closeSync, openSync } from "node:fs";
import { flock } from "../runtime/file-lock.ts";

/**
 * Holds the workspace's kernel lock while `use` runs. The lock is on the folder itself, so every process of
 * every user agrees on it, and it goes with the process that held it.
 */
export async function withWorkspaceLock<T>(
  workspace: string,
  timeoutMs: number,
  use: () => Promise<T> | T,
): Promise<T | "busy"> {
  const fd = openSync(workspace, "r");
  try {
    const locked = await flock(fd, "exclusive", { timeoutMs });
    if (!locked.ok && locked.reason === "timed-out") return "busy";
    return await use();
  } finally {
    closeSync(fd);
  }
}
