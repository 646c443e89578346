import { spawnSync } from "node:child_process";
import { basename, dirname, join } from "node:path";
import { SYSTEM_PATH } from "./sandbox-plan.ts";
import type { LaidRoot, UpperEntry } from "./overlay-layers.ts";

/**
 * Gives the upper a copy of all that moved with its folder (blocks are shared where the file system can): the commit
 * moves inodes, and the originals are on their way into the undo record. Throws when the disk cannot hold it.
 */
export function settleMoves(root: LaidRoot, entries: readonly UpperEntry[]): void {
  const folders = new Map<string, string[]>();
  let within: string | null = null;
  for (const { path, source, kind } of entries) {
    if (source === undefined || kind === "no-text" || (within !== null && path.startsWith(`${within}/`)))
      continue;
    within = path;
    const folder = join(root.upper, dirname(path));
    folders.set(folder, [...(folders.get(folder) ?? []), source]);
  }
  for (const [folder, sources] of folders)
    for (let i = 0; i < sources.length; i += AT_ONCE) copyInto(folder, sources.slice(i, i + AT_ONCE));
}

const AT_ONCE = 200;

function copyInto(folder: string, sources: readonly string[]): void {
  const argv = ["-a", "-x", "--reflink=auto", "-t", folder, "--", ...sources];
  const ran = spawnSync("cp", argv, { encoding: "utf8", env: { PATH: SYSTEM_PATH, LC_ALL: "C" } });
  if (ran.status === 0) return;
  const complaint = ran.stderr?.trim() || String(ran.error?.message ?? ran.status);
  const noSpace = /No space left|quota/.test(complaint);
  throw Object.assign(new Error(`${basename(folder)}: ${complaint}`), { code: noSpace ? "ENOSPC" : "EIO" });
}
