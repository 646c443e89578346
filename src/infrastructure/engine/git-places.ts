import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
} from "node:fs";
import { judgeNewGitFiles } from "../../application/jobs/guard-changes.ts";
import type { BeforeAndAfter, EntryState } from "../../application/ports/jobs-transaction.ts";
import { mayMatterToGit } from "../../domain/policy/git-files.ts";
import { isGitName } from "../../domain/policy/protection.ts";

/** Folders that are looked through for git directories, those near the top first. */
const MOST_FOLDERS = 50_000;
const MOST_PLACES = 2_000;
/** Entries of one git directory that are looked at; objects do not count. */
const MOST_ENTRIES = 5_000;
const MOST_TOLD = 20;

/** Something that git would take for a git directory, or for the way to one. */
export interface GitPlace {
  /** Relative to the folder; empty: the folder itself. */
  readonly path: string;
  readonly kind: "directory" | "file" | "symlink";
  /** Device and inode: another one at the same path is new. */
  readonly identity: string;
}

/** Every `.git` of a folder and below it, and every folder that is a git directory by what it holds. No link is followed. */
export function findGitPlaces(root: string): GitPlace[] {
  const found: GitPlace[] = [];
  const add = (path: string) => {
    const place = toPlace(root, path);
    if (place !== null) found.push(place);
  };
  const pending = [""];
  // The list grows while it is gone through: the nearest folders come first.
  for (const folder of pending) {
    if (found.length >= MOST_PLACES) return found;
    const entries = entriesIn(absolute(root, folder));
    if (isGitDirectory(new Set(entries.map(({ name }) => name)))) {
      add(folder);
      if (folder !== "") continue;
    }
    for (const { name, isFolder } of entries) {
      const path = below(folder, name);
      if (isGitName(name)) add(path);
      else if (isFolder && pending.length < MOST_FOLDERS) pending.push(path);
    }
  }
  return found;
}

/**
 * Looks for git directories that came after the first look and hold what no job may leave in one: a hook, a setting
 * that names a program. Nothing is changed: a user may have made it as well as a process.
 */
export function createGitWatch(root: string): () => readonly string[] {
  const known = new Set(findGitPlaces(root).map(({ identity }) => identity));
  return () => {
    const fresh = findGitPlaces(root).filter(({ identity }) => !known.has(identity));
    const paths = fresh.flatMap((place) => judgedPaths(root, place));
    return fresh.length === 0 ? [] : judgeNewGitFiles(liveSides(root), paths).slice(0, MOST_TOLD);
  };
}

function judgedPaths(root: string, { path: place, kind }: GitPlace): string[] {
  const own = isGitName(place.slice(place.lastIndexOf("/") + 1)) ? [place] : [];
  if (kind !== "directory") return own;
  const found = own;
  const pending = [place];
  let seen = 0;
  for (const folder of pending)
    for (const { name, isFolder } of entriesIn(absolute(root, folder))) {
      if (++seen > MOST_ENTRIES) return found;
      const path = below(folder, name);
      if (mayMatterToGit(path)) found.push(path);
      if (isFolder && name !== "objects") pending.push(path);
    }
  return found;
}

/** A folder of which nothing was there before. */
function liveSides(root: string): BeforeAndAfter {
  return {
    repository: null,
    original: () => null,
    look: (path, when) => (when === "before" ? null : lookAt(absolute(root, path))),
    current: (path) => readPlain(absolute(root, path)),
  };
}

function lookAt(path: string): EntryState | null {
  try {
    const stats = lstatSync(path);
    return { kind: entryKind(stats), mode: stats.mode & 0o7777, size: stats.size };
  } catch {
    return null;
  }
}

/** More than any file that is judged by its content may have. */
const MOST_BYTES = 4 * 1024 * 1024;

/** The process that writes there may be hostile: no link is followed, no pipe waited for, and no more read than is judged. */
function readPlain(path: string): Uint8Array | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() || stats.size > MOST_BYTES) return null;
    const bytes = Buffer.alloc(stats.size);
    return bytes.subarray(0, readSync(file, bytes, 0, stats.size, 0));
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}

function toPlace(root: string, path: string): GitPlace | null {
  try {
    const stats = lstatSync(absolute(root, path));
    const kind = entryKind(stats);
    return kind === "other" ? null : { path, kind, identity: `${stats.dev}:${stats.ino}` };
  } catch {
    return null;
  }
}

function entryKind(stats: Stats): EntryState["kind"] {
  if (stats.isDirectory()) return "directory";
  if (stats.isFile()) return "file";
  return stats.isSymbolicLink() ? "symlink" : "other";
}

function isGitDirectory(names: ReadonlySet<string>): boolean {
  return names.has("HEAD") && ((names.has("objects") && names.has("refs")) || names.has("commondir"));
}

function entriesIn(folder: string): { readonly name: string; readonly isFolder: boolean }[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
  } catch {
    return [];
  }
}

function absolute(root: string, path: string): string {
  return path === "" ? root : `${root}/${path}`;
}

function below(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}
