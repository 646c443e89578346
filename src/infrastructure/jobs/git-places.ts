import { lstatSync, readdirSync } from "node:fs";
import { judgeNewGitFiles } from "../../application/jobs/guard-changes.ts";
import type { BeforeAndAfter } from "../../application/ports/jobs-transaction.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { mayMatterToGit } from "../../domain/policy/git-files.ts";
import { holdsGitName, isGitName } from "../../domain/policy/protection.ts";
import { identifyAt, kindOf } from "../platform/entry-identity.ts";
import { lstatEntry } from "../platform/entry-stats.ts";
import { toEntryState } from "../platform/folder-view.ts";
import { readPlain } from "../platform/read-file.ts";

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

/** New git directories that hold what no job may leave in one (a hook, a program's name). Only reported: the user may have made them. */
export function createGitWatch(root: string): () => readonly string[] {
  const known = new Set(findGitPlaces(root).map(({ identity }) => identity));
  return () => {
    const fresh = findGitPlaces(root).filter(({ identity }) => !known.has(identity));
    const paths = fresh.flatMap((place) => judgedPaths(root, place));
    return fresh.length === 0
      ? []
      : judgeNewGitFiles(
          sidesOfNew((path) => absolute(root, path)),
          paths,
        ).slice(0, MOST_TOLD);
  };
}

export interface ComingEntry {
  readonly path: string;
  readonly isNew: boolean;
  readonly lies: string;
}

export interface ComingEntries {
  readonly root: string;
  readonly coming: readonly ComingEntry[];
  readonly going: readonly string[];
  /** When the job began whose entries come. */
  readonly begin: bigint;
}

/** Files that an undo, a redo or a preview would bring together in a git directory, though they were judged apart from each other. */
export function findUnjudgedTogether({ root, coming, going, begin }: ComingEntries): string[] {
  const candidates = coming.filter(({ path }) => mayMatterToGit(path) && !holdsGitName(path));
  if (candidates.length === 0) return [];
  const arriving = new Map(coming.map((entry) => [entry.path, entry]));
  const gone = new Set(going);
  /** The current location of the entry that will be at a path; a folder may be moved with its contents. */
  const place = (path: string): string | null => {
    const entry = arriving.get(path);
    if (entry !== undefined) return entry.lies;
    const above = foldersAbove(path).findLast((folder) => arriving.get(folder)?.isNew === true);
    if (above !== undefined) return `${arriving.get(above)?.lies}${path.slice(above.length)}`;
    return gone.has(path) ? null : absolute(root, path);
  };
  const sides = sidesOfNew(place);
  const marks = (folder: string) => GIT_MARKS.map((name) => below(folder, name));
  const isNew = (path: string) => arriving.get(path)?.isNew === true;
  const found = new Set<string>();
  const judge = (paths: readonly string[]) => {
    for (const path of judgeNewGitFiles(sides, paths)) found.add(path);
  };
  const seen = new Map<string, "judge" | "known">();
  const state = (folder: string): "judge" | "known" => {
    const names = new Set(GIT_MARKS.filter((name) => sides.look(below(folder, name), "after") !== null));
    if (!isGitDirectory(names)) return "known";
    // Such a folder is moved with its contents, which were in it before or were judged with it.
    if (foldersAbove(`${folder}/x`).some((one) => one !== "" && isNew(one))) return "known";
    if (marks(folder).some(isNew)) {
      const standing = judgedPaths(root, { path: folder, kind: "directory", identity: "" });
      judge(standing.filter((path) => !arriving.has(path)));
      return "known";
    }
    return isOlder(root, folder, begin) ? "known" : "judge";
  };
  for (const { path, lies } of candidates)
    for (const folder of foldersAbove(path)) {
      const known = seen.get(folder) ?? state(folder);
      seen.set(folder, known);
      if (known === "judge") judge([path, ...entriesBelow(lies).map((inside) => below(path, inside))]);
    }
  return [...found].sort().slice(0, MOST_TOLD);
}

/** The names by which git knows a git directory. */
const GIT_MARKS = ["HEAD", "objects", "refs", "commondir"];

function foldersAbove(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, i) => parts.slice(0, i).join("/"));
}

/** Whether a folder was a git directory before a moment. Git changes the entries of folders, and replaces files. */
function isOlder(root: string, folder: string, moment: bigint): boolean {
  return GIT_MARKS.every((name) => {
    const stats = lstatSync(absolute(root, below(folder, name)), { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return true;
    const since = stats.isDirectory() ? stats.birthtimeNs : stats.ctimeNs;
    return since > 0n && since < moment;
  });
}

function judgedPaths(root: string, { path: place, kind }: GitPlace): string[] {
  const own = isGitName(place.slice(place.lastIndexOf("/") + 1)) ? [place] : [];
  if (kind !== "directory") return own;
  const inside = entriesBelow(absolute(root, place)).map((path) => below(place, path));
  return [...own, ...inside.filter(mayMatterToGit)];
}

/** The paths below a folder, except objects; none if it is not a folder. */
function entriesBelow(folder: string): string[] {
  const found: string[] = [];
  const pending = [""];
  for (const above of pending)
    for (const { name, isFolder } of entriesIn(absolute(folder, above))) {
      if (found.length >= MOST_ENTRIES) return found;
      const path = below(above, name);
      found.push(path);
      if (isFolder && name !== "objects") pending.push(path);
    }
  return found;
}

/** Files that did not exist before; `place` returns the location of a path's file, null if there is none. */
function sidesOfNew(place: (path: string) => string | null): BeforeAndAfter {
  return {
    repository: null,
    original: () => null,
    look(path, when) {
      const lies = when === "before" ? null : place(path);
      return lies === null ? null : attemptOr(null, () => toEntryState(identifyAt(lies)));
    },
    current(path) {
      const lies = place(path);
      return lies === null ? null : attemptOr(null, () => readPlain(lies, MOST_BYTES));
    },
  };
}

/** More than any file that is judged by its content may have. */
const MOST_BYTES = 4 * 1024 * 1024;

function toPlace(root: string, path: string): GitPlace | null {
  const stats = attemptOr(undefined, () => lstatEntry(absolute(root, path)));
  if (stats === undefined) return null;
  const kind = kindOf(stats);
  return kind === "other" ? null : { path, kind, identity: `${stats.dev}:${stats.ino}` };
}

function isGitDirectory(names: ReadonlySet<string>): boolean {
  return names.has("HEAD") && ((names.has("objects") && names.has("refs")) || names.has("commondir"));
}

function entriesIn(folder: string): { readonly name: string; readonly isFolder: boolean }[] {
  const entries = attemptOr([], () => readdirSync(folder, { withFileTypes: true }));
  return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
}

function absolute(root: string, path: string): string {
  return path === "" ? root : `${root}/${path}`;
}

function below(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}
