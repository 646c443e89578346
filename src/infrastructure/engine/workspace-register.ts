import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { hashHex } from "../platform/hash.ts";
import { hasLiveJobs } from "./running-jobs.ts";
import { isTrusted } from "./trusted-folder.ts";

/** Which folder a workspace is, wherever it has been moved on its file system. */
interface KnownFolder {
  readonly path: string;
  readonly dev: string;
  readonly ino: string;
  /** When the folder was made: an inode number alone may have had another owner before. */
  readonly born: string;
}

/** A workspace's folder in PicoClaw's home. */
export interface RegisteredWorkspace {
  readonly folder: string;
  /** Where the workspace was before somebody moved it; only told once. */
  readonly movedFrom: string | null;
}

export function workspaceId(workspace: string): string {
  const hash = hashHex("sha256", workspace).slice(0, 10);
  return `${
    basename(workspace)
      .replace(/[^\w.-]+/g, "_")
      .slice(0, 40) || "root"
  }-${hash}`;
}

/**
 * Finds the entry of a workspace: by its path, or by the folder itself where that was registered under another path at
 * which it does not stand any more. The entry of such a moved workspace gets the name of its new path. Nothing is made
 * for a workspace that was never here.
 */
export function findRegisteredWorkspace(workspace: string, home: string): RegisteredWorkspace {
  const all = join(home, "workspaces");
  const folder = join(all, workspaceId(workspace));
  const now = readKnownFolder(workspace);
  const noted = readNote(folder);
  if (now === null || (noted !== null && isSameFolder(noted, now))) return { folder, movedFrom: null };
  if (noted === null && existsSync(folder)) return { folder, movedFrom: null };
  const from = findMoved(all, now, home);
  if (from === null) return { folder, movedFrom: null };
  const movedFrom = from.known.path;
  // A job that began before the move still writes there.
  if (hasLiveJobs(from.folder)) return { folder: from.folder, movedFrom };
  try {
    if (noted !== null) renameSync(folder, `${folder}~${noted.ino}`);
    renameSync(from.folder, folder);
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    if (existsSync(from.folder)) return { folder: from.folder, movedFrom };
  }
  return { folder, movedFrom };
}

/** Remembers which folder the workspace of an entry is. */
export function noteWorkspace(entry: string, workspace: string): void {
  const now = readKnownFolder(workspace);
  const noted = readNote(entry);
  if (now === null || (noted !== null && isSameFolder(noted, now) && noted.path === now.path)) return;
  writeFileSync(notePath(entry), JSON.stringify(now), { mode: 0o600 });
}

function findMoved(
  all: string,
  now: KnownFolder,
  home: string,
): { readonly folder: string; readonly known: KnownFolder } | null {
  if (!existsSync(all)) return null;
  for (const name of readdirSync(all)) {
    const folder = join(all, name);
    const known = readNote(folder);
    if (known === null || known.path === now.path || !isSameFolder(known, now) || !isTrusted(folder, home))
      continue;
    const there = readKnownFolder(known.path);
    if (there === null || !isSameFolder(there, now)) return { folder, known };
  }
  return null;
}

function isSameFolder(one: KnownFolder, other: KnownFolder): boolean {
  return one.dev === other.dev && one.ino === other.ino && one.born === other.born;
}

function readKnownFolder(path: string): KnownFolder | null {
  try {
    const { dev, ino, birthtimeNs } = lstatSync(path, { bigint: true });
    return { path, dev: String(dev), ino: String(ino), born: String(birthtimeNs) };
  } catch {
    return null;
  }
}

function readNote(entry: string): KnownFolder | null {
  try {
    return JSON.parse(readFileSync(notePath(entry), "utf8")) as KnownFolder;
  } catch {
    return null;
  }
}

function notePath(entry: string): string {
  return join(entry, "workspace.json");
}
