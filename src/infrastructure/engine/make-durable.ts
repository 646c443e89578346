import { closeSync, fsyncSync, openSync } from "node:fs";
import { syncfs } from "../platform/sync.ts";
import { type JobFolder, type Op, opSlotPath } from "./job-folder.ts";

/** Beyond this many files one flush of the whole file system is cheaper than one each. */
const FILES_ONE_BY_ONE = 64;

/** What was staged reaches the disk before any intent names it. */
export function makeDurable(folder: JobFolder, ops: readonly Op[]): void {
  const files = ops.filter(({ b, inPlace }) => b?.kind === "file" && inPlace !== true);
  if (files.length <= FILES_ONE_BY_ONE && files.every(({ n }) => flush(opSlotPath(folder, n, "b")))) return;
  const descriptor = openSync(folder.path, "r");
  syncfs(descriptor);
  closeSync(descriptor);
}

/** False for a file that its own user may not open. */
function flush(path: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch {
    return false;
  }
  try {
    fsyncSync(descriptor);
    return true;
  } finally {
    closeSync(descriptor);
  }
}
