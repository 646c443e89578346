import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { SandboxPlan } from "./sandbox-plan.ts";

/** Where a system keeps what only root may read, and how deep to look for it. */
const SYSTEM_SECRET_FOLDERS = [
  { folder: "/etc", depth: 4 },
  { folder: "/var/lib", depth: 1 },
  { folder: "/var/spool", depth: 1 },
  { folder: "/var/backups", depth: 1 },
  { folder: "/var/log", depth: 1 },
] as const;

/**
 * Root is let in by owning a file, whatever capabilities it gave up. What no ordinary user may read (`/etc/shadow`, keys
 * of servers) is therefore hidden from a job of root by name.
 */
export function systemSecrets(): SandboxPlan["closed"] {
  return SYSTEM_SECRET_FOLDERS.flatMap(({ folder, depth }) => closedBelow(folder, depth));
}

function closedBelow(folder: string, depth: number): { path: string; isFolder: boolean }[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    const isFolder = entry.isDirectory();
    if (!isFolder && !entry.isFile()) return [];
    const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0o777;
    if ((mode & (isFolder ? 0o001 : 0o004)) === 0) return [{ path, isFolder }];
    return isFolder && depth > 1 ? closedBelow(path, depth - 1) : [];
  });
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
