import { chmodSync, lstatSync, rmSync } from "node:fs";
import { unlockFolder, walkFolder } from "./walk-folder.ts";

/** Removes a folder that is ours and everything in it, read-only folders included. A missing one is fine. */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return;
    if (!stats.isDirectory()) throw error;
    unlockFolder(path, stats);
    for (const _ of walkFolder(path, { unlock: true }));
    chmodSync(path, 0o700);
    rmSync(path, { recursive: true, force: true });
  }
}
