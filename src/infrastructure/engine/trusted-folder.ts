import { chmodSync, lstatSync } from "node:fs";

/** Write permission of the group and of others; an access list that grants it shows in the group's. */
const OTHERS_WRITE = 0o022;
const OTHERS = 0o077;

/**
 * Whether a folder can hold only what its owner put there, and the owner is this user, or for root the one whose home
 * of PicoClaw is in use. What lies in any other folder may be a stranger's plan.
 */
export function isTrusted(folder: string, home: string, options: { anyMode?: boolean } = {}): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return false;
  const user = process.geteuid?.();
  const ours = user === undefined || stats.uid === user || (user === 0 && stats.uid === ownerOf(home));
  if (!ours) return false;
  if (options.anyMode === true) return true;
  if ((stats.mode & OTHERS_WRITE) !== 0) return false;
  if ((stats.mode & OTHERS) !== 0) chmodSync(folder, 0o700);
  return true;
}

/** Whether the file system keeps the mode that a folder was made with. */
export function keepsModes(folder: string): boolean {
  return (lstatSync(folder).mode & OTHERS_WRITE) === 0;
}

function ownerOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.uid;
}
