import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { attemptOr, trySystemCall } from "../../domain/platform/error-text.ts";
import { hashHex } from "./hash.ts";
import { tryFlock } from "./libc.ts";
import { renameable } from "./mount-points.ts";
import { removeTree } from "./remove-tree.ts";

/** Write permission of the group and of others; an access list that grants it shows in the group's. */
const OTHERS_WRITE = 0o022;
const OTHERS = 0o077;

/** Whether only its owner, who is this user or for root the home's, may put entries into a folder. Else plans may be a stranger's. */
function isTrusted(folder: string, home: string, options: { anyMode?: boolean } = {}): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return false;
  const user = process.geteuid?.();
  const ours =
    user === undefined ||
    stats.uid === user ||
    (user === 0 && stats.uid === lstatSync(home, { throwIfNoEntry: false })?.uid);
  if (!ours) return false;
  if (options.anyMode === true) return true;
  if ((stats.mode & OTHERS_WRITE) !== 0) return false;
  if ((stats.mode & OTHERS) !== 0) chmodSync(folder, 0o700);
  return true;
}

/** Identifies a workspace's folder, also after a move on its file system. */
interface KnownFolder {
  readonly path: string;
  readonly dev: string;
  readonly ino: string;
  /** When the folder was made: an inode number alone may have had another owner before. */
  readonly born: string;
}

export function workspaceId(workspace: string): string {
  const hash = hashHex("sha256", workspace).slice(0, 10);
  return `${
    basename(workspace)
      .replace(/[^\w.-]+/g, "_")
      .slice(0, 40) || "root"
  }-${hash}`;
}

/** The entry of a workspace, by its path or by the folder itself if that has moved; then it is renamed. Creates nothing. */
function findRegisteredWorkspace(workspace: string, home: string) {
  const folder = join(home, "workspaces", workspaceId(workspace));
  const now = readKnownFolder(workspace);
  const noted = readNote(folder);
  if (now === null || (noted !== null && isSameFolder(noted, now))) return { folder, movedFrom: null };
  if (noted === null && existsSync(folder)) return { folder, movedFrom: null };
  const from = findMoved(now, home);
  if (from === null) return { folder, movedFrom: null };
  /** The path of the workspace before it was moved; reported only once. */
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

function noteWorkspace(entry: string, workspace: string): void {
  const now = readKnownFolder(workspace);
  const noted = readNote(entry);
  if (now === null || (noted !== null && isSameFolder(noted, now) && noted.path === now.path)) return;
  writeFileSync(notePath(entry), JSON.stringify(now), { mode: 0o600 });
}

function findMoved(
  now: KnownFolder,
  home: string,
): { readonly folder: string; readonly known: KnownFolder } | null {
  for (const folder of listEntries(home)) {
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
  return attemptOr(null, () => {
    const { dev, ino, birthtimeNs } = lstatSync(path, { bigint: true });
    return { path, dev: String(dev), ino: String(ino), born: String(birthtimeNs) };
  });
}

function readNote(entry: string): KnownFolder | null {
  return attemptOr(null, () => JSON.parse(readFileSync(notePath(entry), "utf8")) as KnownFolder);
}

function notePath(entry: string): string {
  return join(entry, "workspace.json");
}

/**
 * The place of a workspace's jobs: on the workspace's own file system, so that a commit is a rename. First
 * choice is the workspace's entry in PicoClaw's home; where that is another file system, a hidden folder
 * beside the workspace (beside the repository when the workspace is in one), and last one inside of it. Such
 * a folder has an unguessable name below one that cannot be listed, and only the entry states which it is: all other
 * folders there are a stranger's, and a job of another workspace that runs already does not find it.
 */
export interface Storage {
  readonly workspace: string;
  /** The folder with `jobs/`, the intent file and nothing else. */
  readonly folder: string;
  /** The folder in a foreign place that holds nothing but the storage; else the storage itself. */
  readonly outer: string;
  /** Path of `outer` relative to the workspace when it is inside it. */
  readonly inside: string | null;
  /** False when it belongs to another user or others may write to it: then nothing in it may be read or carried out. */
  readonly trusted: boolean;
}

/** Never fails: where no place can be written to, it names the last one, and the job that needs it is refused. */
export function locateStorage(workspace: string, home: string, outermost: string): Storage {
  const { folder: entry, movedFrom } = findRegisteredWorkspace(workspace, home);
  const at = (folder: string, trusted = true) => toStorage(workspace, folder, trusted);
  if (lstatSync(entry, { throwIfNoEntry: false }) !== undefined && !isTrusted(entry, home))
    return at(entry, false);
  const known = readLocation(entry, workspace, movedFrom);
  if (known !== null && renameable(known.folder, workspace)) {
    const places = new Set([known.folder, dirname(known.folder), outerOf(known.folder)]);
    const own = BELOW_OUTER.test(known.folder) ? [...places] : [known.folder];
    if (!own.every((folder) => isTrusted(folder, home, known))) return at(known.folder, false);
    trySystemCall(() => noteWorkspace(entry, workspace));
    return at(known.folder);
  }
  if (renameable(nearestExisting(home), workspace) && prepare(entry)) {
    trySystemCall(() => noteWorkspace(entry, workspace));
    return at(entry);
  }
  return at(makeElsewhere(entry, workspace, outermost));
}

interface Location {
  readonly folder: string;
  /** The file system shows no modes. */
  readonly anyMode: boolean;
}

/** The first line is the folder; where it moved along with the workspace, it is found there. */
function readLocation(entry: string, workspace: string, movedFrom: string | null): Location | null {
  const pointer = locationFile(entry);
  if (!existsSync(pointer)) return null;
  const [known = "", mode = ""] = readFileSync(pointer, "utf8").split("\n");
  const anyMode = mode === ANY_MODE;
  if (known === "") return null;
  if (existsSync(known)) return { folder: known, anyMode };
  const along = movedFrom === null ? known : resolve(workspace, relative(movedFrom, known));
  if (!existsSync(along)) return null;
  writeLocation(entry, { folder: along, anyMode });
  return { folder: along, anyMode };
}

const ANY_MODE = "any-mode";

function writeLocation(entry: string, { folder, anyMode }: Location): void {
  writeFileSync(locationFile(entry), `${folder}\n${anyMode ? `${ANY_MODE}\n` : ""}`, { mode: 0o600 });
}

function locationFile(entry: string): string {
  return join(entry, "location");
}

/** Registered first, then made under a name that was free. */
function makeElsewhere(entry: string, workspace: string, outermost: string): string {
  const random = (bytes: number) =>
    Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
  const below = join(UNLISTED_FOLDER, random(SECRET_BYTES));
  const beside = join(dirname(outermost), `.${workspaceId(workspace)}-${random(8)}.picoclaw`, below);
  const inside = join(workspace, `.picoclaw-${random(8)}`, below);
  if (!existsSync(workspace)) return inside;
  for (const folder of renameable(dirname(outermost), workspace) ? [beside, inside] : [inside]) {
    const registered = trySystemCall(() => {
      mkdirSync(entry, { recursive: true, mode: 0o700 });
      writeLocation(entry, { folder, anyMode: false });
    });
    if (!registered) return entry;
    const made = trySystemCall(() => {
      const outer = outerOf(folder);
      mkdirSync(outer, { mode: 0o700 });
      hideFromGit(outer);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      // The file system may not keep the mode that a folder was made with.
      if ((lstatSync(folder).mode & OTHERS_WRITE) !== 0) writeLocation(entry, { folder, anyMode: true });
      noteWorkspace(entry, workspace);
    });
    if (made && prepare(folder)) {
      trySystemCall(() => chmodSync(dirname(folder), UNLISTED));
      return folder;
    }
    trySystemCall(() => {
      removeTree(outerOf(folder));
      rmSync(locationFile(entry), { force: true });
    });
  }
  return inside;
}

/** A process that knows a name inside can pass through, none can list it, and a job cannot change its mode. */
const UNLISTED = 0o300;
const UNLISTED_FOLDER = "s";
const SECRET_BYTES = 16;
const BELOW_OUTER = /^(.+)\/s\/[0-9a-f]{32}$/;

function outerOf(folder: string): string {
  return BELOW_OUTER.exec(folder)?.[1] ?? folder;
}

/** Makes a storage that no `git status` shows; false where that cannot be. */
function prepare(folder: string): boolean {
  return trySystemCall(() => {
    mkdirSync(join(folder, "jobs"), { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK | constants.X_OK);
    hideFromGit(folder);
  });
}

function hideFromGit(folder: string): void {
  if (!existsSync(join(folder, ".gitignore"))) writeFileSync(join(folder, ".gitignore"), "*\n");
}

export function toStorage(workspace: string, folder: string, trusted: boolean): Storage {
  const outer = outerOf(folder);
  const inside = outer.startsWith(`${workspace}/`) ? outer.slice(workspace.length + 1) : null;
  return { workspace, folder, outer, inside, trusted };
}

/** Takes away others' rights to a storage in the home. False, unchanged, if a part is another user's or is shared: a person must look. */
export function reclaimStorage({ workspace, folder }: Storage, home: string): boolean {
  if (folder !== join(home, "workspaces", workspaceId(workspace))) return false;
  const user = process.geteuid?.();
  const isOwn = (path: string) => {
    const stats = lstatSync(path);
    return stats.uid === user && !stats.isSymbolicLink();
  };
  const isAllOwn = (path: string) =>
    isOwn(path) && readdirSync(path).every((name) => isOwn(join(path, name)));
  const places = [folder, join(folder, "jobs")].filter(existsSync);
  const theirs = [home, dirname(folder)].filter((path) => (lstatSync(path).mode & OTHERS_WRITE) !== 0);
  return (
    places.every(isAllOwn) &&
    trySystemCall(() => {
      for (const path of [...theirs.filter(isOwn), ...places]) chmodSync(path, 0o700);
    })
  );
}

function nearestExisting(path: string): string {
  let at = path;
  while (!existsSync(at)) at = dirname(at);
  return at;
}

/** The folders in foreign places that hold the storage of a workspace. */
export function foreignStorages(home: string): string[] {
  return listEntries(home).flatMap((entry) => {
    const pointer = locationFile(entry);
    const [folder = ""] = existsSync(pointer) ? readFileSync(pointer, "utf8").split("\n") : [];
    return folder === "" ? [] : [outerOf(folder)];
  });
}

/** Where each workspace keeps its jobs; storages that may be a stranger's are left out. */
export function jobStorages(home: string): string[] {
  return listEntries(home).flatMap((entry) => {
    if (!isTrusted(entry, home)) return [];
    const known = readLocation(entry, "", null);
    if (known === null) return existsSync(locationFile(entry)) ? [] : [entry];
    return isTrusted(known.folder, home, known) ? [known.folder] : [];
  });
}

function listEntries(home: string): string[] {
  const all = join(home, "workspaces");
  return existsSync(all) ? readdirSync(all).map((id) => join(all, id)) : [];
}

export function isDead(path: string): boolean {
  return attemptOr(false, () => {
    const descriptor = openSync(path, "r");
    try {
      return tryFlock(descriptor).ok;
    } finally {
      closeSync(descriptor);
    }
  });
}

export function listRunning(folder: string): string[] {
  return attemptOr([], () =>
    readdirSync(folder)
      .filter((name) => name.startsWith("job_"))
      .sort(),
  );
}

function hasLiveJobs(storage: string): boolean {
  const folder = join(storage, "running");
  return listRunning(folder).some((jobId) => !isDead(join(folder, jobId)));
}
