import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { renameable } from "./mounts.ts";
import { isTrusted, keepsModes } from "./trusted-folder.ts";
import { findRegisteredWorkspace, noteWorkspace, workspaceId } from "./workspace-register.ts";

/**
 * Where a workspace's jobs are kept: on the workspace's own file system, so that a commit is a rename.
 * First choice is the workspace's entry in PicoClaw's home; where that is another file system, a hidden folder beside
 * the workspace (beside the repository when the workspace lies in one), and last one inside of it. Such a folder has a
 * name that nobody can guess, and only the entry says which it is: whatever else lies there is a stranger's.
 */
export interface Storage {
  readonly workspace: string;
  /** The folder with `jobs/`, the intent file and nothing else. */
  readonly folder: string;
  /** Path of the storage relative to the workspace when it lies inside it. */
  readonly inside: string | null;
  /** False when it belongs to another user or others may write to it: then nothing in it may be read or carried out. */
  readonly trusted: boolean;
}

/**
 * Never fails: where no place can be written to, it names the last one, and the job that needs it is refused with the
 * reason.
 */
export function locateStorage(workspace: string, home: string, outermost: string): Storage {
  const { folder: entry, movedFrom } = findRegisteredWorkspace(workspace, home);
  const at = (folder: string, trusted = true) => toStorage(workspace, folder, trusted);
  if (lstatSync(entry, { throwIfNoEntry: false }) !== undefined && !isTrusted(entry, home))
    return at(entry, false);
  const known = readLocation(entry, workspace, movedFrom);
  if (known !== null && renameable(known.folder, workspace)) {
    if (!isTrusted(known.folder, home, known)) return at(known.folder, false);
    succeeds(() => noteWorkspace(entry, workspace));
    return at(known.folder);
  }
  if (renameable(nearestExisting(home), workspace) && prepare(entry)) {
    succeeds(() => noteWorkspace(entry, workspace));
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
  const random = Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex");
  const beside = join(dirname(outermost), `.${workspaceId(workspace)}-${random}.picoclaw`);
  const inside = join(workspace, `.picoclaw-${random}`);
  if (!existsSync(workspace)) return inside;
  for (const folder of renameable(dirname(outermost), workspace) ? [beside, inside] : [inside]) {
    const registered = succeeds(() => {
      mkdirSync(entry, { recursive: true, mode: 0o700 });
      writeLocation(entry, { folder, anyMode: false });
    });
    if (!registered) return entry;
    const made = succeeds(() => {
      mkdirSync(folder, { mode: 0o700 });
      if (!keepsModes(folder)) writeLocation(entry, { folder, anyMode: true });
      noteWorkspace(entry, workspace);
    });
    if (made && prepare(folder)) return folder;
    succeeds(() => rmSync(locationFile(entry), { force: true }));
  }
  return inside;
}

/** Makes a storage that no `git status` shows; false where that cannot be. */
function prepare(folder: string): boolean {
  return succeeds(() => {
    mkdirSync(join(folder, "jobs"), { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (!existsSync(join(folder, ".gitignore"))) writeFileSync(join(folder, ".gitignore"), "*\n");
  });
}

function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    return false;
  }
}

function toStorage(workspace: string, folder: string, trusted: boolean): Storage {
  const inside = folder.startsWith(`${workspace}/`) ? folder.slice(workspace.length + 1) : null;
  return { workspace, folder, inside, trusted };
}

/** Where the storage of each workspace in PicoClaw's home lies; those that may be a stranger's are left out. */
export function trustedStorages(home: string, entries: readonly string[]): string[] {
  return entries.flatMap((entry) => {
    if (!isTrusted(entry, home)) return [];
    const known = readLocation(entry, "", null);
    if (known === null) return existsSync(locationFile(entry)) ? [] : [entry];
    return isTrusted(known.folder, home, known) ? [known.folder] : [];
  });
}

function nearestExisting(path: string): string {
  let at = path;
  while (!existsSync(at)) at = dirname(at);
  return at;
}
