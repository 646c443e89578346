import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import {
  type Entry,
  type EntryState,
  type TakenEdit,
  toViewFault,
  type View,
  ViewFault,
  type WorkspaceFiles,
} from "../../application/ports/platform-view.ts";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { parentOf } from "../../domain/platform/paths.ts";
import { type Identity, identify, isAbsence } from "./entry-identity.ts";
import { inFolder, inParent } from "./open-folder.ts";
import { copyXattrs } from "./xattr.ts";

/** A view that is a real folder: the copy of a workspace, an overlay, or the workspace itself. */
export function createFolderView(root: string, touched: (path: string) => void = () => {}): View {
  const guarded = <T>(path: string, use: () => T): T => {
    try {
      return use();
    } catch (error) {
      throw toViewFault(error, path);
    }
  };
  const at = <T>(path: string, use: (absolute: string) => T): T =>
    guarded(path, () => inParent(root, path, (folder, name) => use(`${folder}/${name}`)));
  /** Looked at before anything is made for its destination. */
  const source = (path: string): Entry => {
    const found = at(path, readEntryAt);
    if (found.kind === "missing") throw new ViewFault("missing", path, `no such file or directory: ${path}`);
    return found;
  };
  const makeParents = (path: string) => {
    const slash = path.lastIndexOf("/");
    if (slash > 0) makeDirectory(path.slice(0, slash));
  };
  const makeDirectory = (path: string) => {
    const parts = path.split("/");
    for (let i = 1; i <= parts.length; i++) {
      const prefix = parts.slice(0, i).join("/");
      at(prefix, (absolute) => {
        const found = lstatSync(absolute, { throwIfNoEntry: false });
        if (found === undefined) {
          mkdirSync(absolute);
          touched(prefix);
        } else if (!found.isDirectory()) {
          throw new ViewFault(
            i === parts.length ? "exists" : "not-directory",
            path,
            `not a directory: ${prefix}`,
          );
        }
      });
    }
  };

  return {
    look(path) {
      if (path === "") return { kind: "directory", mode: 0o755 };
      try {
        return inParent(root, path, (folder, name) => readEntryAt(`${folder}/${name}`));
      } catch (error) {
        if (isAbsence(error)) return { kind: "missing" };
        throw toViewFault(error, path);
      }
    },
    read: (path) => at(path, (absolute) => readRegular(absolute, path)),
    write(path, bytes, mode) {
      makeParents(path);
      at(path, (absolute) => {
        const found = lstatSync(absolute, { throwIfNoEntry: false });
        if (found?.isDirectory()) throw new ViewFault("is-directory", path, `is a directory: ${path}`);
        const keep = mode ?? (found?.isFile() ? found.mode & 0o7777 : undefined);
        if (found?.isFile() && hasSameContent(absolute, found, bytes, keep)) return;
        if (found?.isFile()) accessSync(absolute, constants.W_OK);
        if (found?.isFile() && !canReplace(absolute)) overwriteFile(absolute, bytes, keep);
        else replaceFile(absolute, found, bytes, keep);
        touched(path);
      });
    },
    makeSymlink(path, target) {
      makeParents(path);
      at(path, (absolute) => {
        const found = lstatSync(absolute, { throwIfNoEntry: false });
        if (found?.isDirectory()) throw new ViewFault("is-directory", path, `is a directory: ${path}`);
        if (found !== undefined) unlinkSync(absolute);
        symlinkSync(target, absolute);
        touched(path);
      });
    },
    makeDirectory,
    remove(path) {
      at(path, (absolute) => {
        if (lstatSync(absolute).isDirectory()) rmdirSync(absolute);
        else unlinkSync(absolute);
        touched(path);
      });
    },
    rename(from, to) {
      const moved = source(from);
      if (staysInPlace(from, to, moved)) return;
      if (moved.kind === "directory" && parentOf(from) !== parentOf(to))
        at(from, (absolute) => accessSync(absolute, constants.W_OK));
      // Before the destination's parents are made: a move that cannot be done leaves nothing behind.
      guarded(from, () =>
        inParent(root, from, (folder) => accessSync(folder, constants.W_OK | constants.X_OK)),
      );
      makeParents(to);
      at(from, (source) => {
        const moved = lstatSync(source);
        at(to, (destination) => {
          const there = lstatSync(destination, { throwIfNoEntry: false });
          if (there !== undefined && (there.isDirectory() || moved.isDirectory()))
            throw new ViewFault("exists", to, `already exists: ${to}`);
          renameSync(source, destination);
        });
      });
      touched(from);
      touched(to);
    },
    copy(from, to) {
      const copied = source(from);
      if (copied.kind === "directory") throw new ViewFault("is-directory", from, `is a directory: ${from}`);
      if (copied.kind === "other") throw new ViewFault("not-a-file", from, `not a regular file: ${from}`);
      if (from === to) return;
      if (copied.kind === "file") at(from, (absolute) => accessSync(absolute, constants.R_OK));
      makeParents(to);
      at(from, (source) => {
        const found = lstatSync(source);
        at(to, (destination) => {
          const there = lstatSync(destination, { throwIfNoEntry: false });
          if (there?.isDirectory()) throw new ViewFault("is-directory", to, `is a directory: ${to}`);
          if (there !== undefined) unlinkSync(destination);
          if (found.isSymbolicLink()) symlinkSync(readlinkSync(source), destination);
          else copyFileSync(source, destination, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
          if (!found.isSymbolicLink()) chmodSync(destination, found.mode & 0o7777);
        });
        touched(to);
      });
    },
    list: (path) => guarded(path, () => inFolder(root, path, (folder) => readdirSync(folder).sort())),
  };
}

/** True for a rename that leaves everything as it is; a folder cannot move into itself. */
export function staysInPlace(from: string, to: string, moved: Entry): boolean {
  if (to.startsWith(`${from}/`) && moved.kind === "directory")
    throw new ViewFault("exists", to, `cannot move a folder into itself: ${from} -> ${to}`);
  return from === to && moved.kind !== "missing";
}

/** Reads a regular file and nothing else: a FIFO would hang, a device never ends. */
export function readRegular(absolute: string, path: string): Uint8Array {
  const fd = openSync(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (stats.isDirectory()) throw new ViewFault("is-directory", path, `is a directory: ${path}`);
    if (!stats.isFile()) throw new ViewFault("not-a-file", path, `not a regular file: ${path}`);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Whether a file says and is all this already: then it keeps its time of change as well. */
function hasSameContent(
  absolute: string,
  found: Stats,
  bytes: Uint8Array,
  mode: number | undefined,
): boolean {
  if (found.size !== bytes.length || (found.mode & 0o7777) !== mode) return false;
  return Buffer.from(bytes).equals(readRegular(absolute, absolute));
}

/** A file may be writable in a folder that is not. */
function canReplace(absolute: string): boolean {
  return succeeds(() => accessSync(absolute.slice(0, absolute.lastIndexOf("/")), constants.W_OK));
}

function overwriteFile(absolute: string, bytes: Uint8Array, mode: number | undefined): void {
  const flags = constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const fd = openSync(absolute, flags);
  try {
    writeFileSync(fd, bytes);
    if (mode !== undefined) fchmodSync(fd, mode);
  } finally {
    closeSync(fd);
  }
}

/** Written beside and renamed over, with attributes and owner: a disk that fills up half-way leaves the old file whole. */
function replaceFile(
  absolute: string,
  found: Stats | undefined,
  bytes: Uint8Array,
  mode: number | undefined,
): void {
  const beside = `${absolute.slice(0, absolute.lastIndexOf("/"))}/.picoclaw-${crypto.randomUUID()}`;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = openSync(beside, flags, mode ?? 0o666);
  try {
    writeFileSync(fd, bytes);
    if (found?.isFile()) {
      copyXattrs(absolute, fd);
      adoptOwner(fd, found);
    }
    if (mode !== undefined) fchmodSync(fd, mode);
    renameSync(beside, absolute);
  } catch (error) {
    unlinkSync(beside);
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** An ordinary user cannot give files away, but to a group of theirs; the mode still holds. */
export function adoptOwner(fd: number, owner: { readonly uid: number; readonly gid: number }): void {
  const user = process.getuid?.();
  if (user !== 0 && owner.gid === process.getgid?.()) return;
  // Where it is not ours to give, it stays ours.
  succeeds(() => fchownSync(fd, user === undefined || user === 0 ? owner.uid : user, owner.gid));
}

/** A folder as tools read it: no symlink is followed, and only regular files are opened. */
export function createWorkspaceFiles(root: string): WorkspaceFiles {
  const { look, list, read } = createFolderView(root);
  return {
    look,
    list,
    read,
    readPart(path, offset, length) {
      try {
        return inParent(root, path, (folder, name) => readPart(`${folder}/${name}`, path, offset, length));
      } catch (error) {
        throw toViewFault(error, path);
      }
    },
    changedAt(path) {
      return attemptOr(null, () =>
        inParent(root, path, (folder, name) => lstatSync(`${folder}/${name}`).ctimeMs),
      );
    },
  };
}

function readPart(absolute: string, path: string, offset: number, length: number): Uint8Array {
  const fd = openSync(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new ViewFault("not-a-file", path, `not a regular file: ${path}`);
    const part = Buffer.alloc(Math.max(0, Math.min(length, stats.size - offset)));
    let filled = 0;
    while (filled < part.length) {
      const count = readSync(fd, part, filled, part.length - filled, offset + filled);
      if (count === 0) break;
      filled += count;
    }
    return part.subarray(0, filled);
  } finally {
    closeSync(fd);
  }
}

/** A view that tells which paths an operation is about to touch, parents that it may make included. */
export function watchView(view: View, touching: (path: string) => void): View {
  const withParents = (path: string) => {
    for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1))
      touching(path.slice(0, slash));
    touching(path);
  };
  return {
    ...view,
    write(path, bytes, mode) {
      withParents(path);
      view.write(path, bytes, mode);
    },
    makeSymlink(path, target) {
      withParents(path);
      view.makeSymlink(path, target);
    },
    makeDirectory(path) {
      withParents(path);
      view.makeDirectory(path);
    },
    remove(path) {
      touching(path);
      view.remove(path);
    },
    rename(from, to) {
      touching(from);
      withParents(to);
      view.rename(from, to);
    },
    copy(from, to) {
      withParents(to);
      view.copy(from, to);
    },
    ...(view.takeIn !== undefined && {
      takeIn(edits: readonly TakenEdit[]) {
        for (const { path } of edits) withParents(path);
        view.takeIn?.(edits);
      },
    }),
  };
}

const TIMES = 3;

/** Corrects an entry that the job's processes may still write: tries again, then leaves it to the final validation. Fatal errors pass. */
export function retryDespiteOthers(
  use: () => void,
  isFatal: (error: unknown) => boolean = () => false,
): void {
  for (let i = 0; i < TIMES; i++) {
    try {
      use();
      return;
    } catch (error) {
      if (isFatal(error)) throw error;
    }
  }
}

/** The current entry at a path below a root, no symlink followed. */
export function currentEntryBelow(root: string, path: string): EntryState | null {
  return toEntryState(path === "" ? null : identify(root, path));
}

export function toEntryState(found: Identity | null): EntryState | null {
  return found === null ? null : { kind: found.kind, mode: found.mode, size: found.size };
}

export function toStanding(entry: Entry): EntryState | null {
  switch (entry.kind) {
    case "missing":
      return null;
    case "file":
      return { kind: entry.kind, mode: entry.mode, size: entry.size };
    case "directory":
      return { kind: entry.kind, mode: entry.mode, size: 0 };
    case "symlink":
    case "other":
      return { kind: entry.kind, mode: 0o777, size: 0 };
  }
}

/** The entry at an absolute path, the last component not followed. */
export function readEntryAt(absolute: string): Entry {
  const stats = lstatSync(absolute, { throwIfNoEntry: false });
  if (stats === undefined) return { kind: "missing" };
  if (stats.isFile()) return { kind: "file", mode: stats.mode & 0o7777, size: stats.size };
  if (stats.isDirectory()) return { kind: "directory", mode: stats.mode & 0o7777 };
  return stats.isSymbolicLink() ? { kind: "symlink", target: readlinkSync(absolute) } : { kind: "other" };
}
