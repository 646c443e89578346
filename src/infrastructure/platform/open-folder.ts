import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats, statSync } from "node:fs";
import { parentOf } from "../../domain/platform/paths.ts";

/** Linux only; elsewhere a plain O_RDONLY descriptor serves (it needs read permission on the folder). */
export const O_PATH = process.platform === "linux" ? 0o10000000 : 0;
const DIRECTORY = constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH;

/**
 * Runs `use` with a name for the folder that holds `path`, reached from `root` without following a symlink. On Linux that is an
 * open descriptor, so a component that becomes a symlink afterwards changes nothing; elsewhere each one is checked first.
 */
export function inParent<T>(root: string, path: string, use: (folder: string, name: string) => T): T {
  const slash = path.lastIndexOf("/");
  const name = path.slice(slash + 1);
  if (name === ".." || name === ".") throw missingNameError(path);
  if (slash < 0) return use(root, name);
  return inFolder(root, path.slice(0, slash), (folder) => use(folder, name));
}

export function inFolder<T>(root: string, path: string, use: (folder: string) => T): T {
  if (path === "") return use(root);
  if (UPWARDS.test(path)) throw missingNameError(path);
  if (process.platform !== "linux") return use(checkedFolder(root, path));
  const fd = openFolder(root, path);
  try {
    return use(`/proc/self/fd/${fd}`);
  } finally {
    closeSync(fd);
  }
}

export type Anchors = ReturnType<typeof createAnchors>;

export interface AnchorOptions {
  /** Called for a folder that is no longer at its path when it is closed: code that moves entries must know. */
  readonly whenMoved?: (folder: string) => void;
  /** Replaces the opening of folders by path. The root is opened by it as well. */
  readonly open?: (root: string, folder: string) => number;
  /** Takes over the descriptor of a folder that is left. Default: it is closed. */
  readonly leave?: (descriptor: number) => void;
}

/** `inParent` for many paths: the last folder stays open for the next path, and stays the same one even if it is moved. */
export function createAnchors({ whenMoved, open, leave = closeSync }: AnchorOptions = {}) {
  let held: HeldFolder | null = null;
  const release = () => {
    if (held !== null) leave(held.fd);
    held = null;
  };
  const close = () => {
    const last = held;
    const moved = last !== null && whenMoved !== undefined && !isStillInPlace(last);
    release();
    if (moved) whenMoved(joinFolder(last.root, last.folder));
  };
  const isHeld = (root: string, folder: string) => held?.root === root && held.folder === folder;
  return {
    close,
    /** The same after a failure, without a look at where the folder is. */
    release,
    /** Whether the folder of a path is open. */
    holds: (root: string, path: string) => isHeld(root, parentOf(path)),
    inParent<T>(root: string, path: string, use: (folder: string, name: string) => T): T {
      const slash = path.lastIndexOf("/");
      if (process.platform !== "linux" || (slash < 0 && open === undefined) || UPWARDS.test(path)) {
        close();
        return inParent(root, path, use);
      }
      const folder = parentOf(path);
      if (!isHeld(root, folder)) {
        close();
        const fd = open?.(root, folder) ?? openFolder(root, folder);
        held = { root, folder, fd, name: `/proc/self/fd/${fd}` };
      }
      return use((held as HeldFolder).name, path.slice(slash + 1));
    },
  };
}

export function joinFolder(root: string, folder: string): string {
  return folder === "" ? root : `${root}/${folder}`;
}

interface HeldFolder {
  readonly root: string;
  readonly folder: string;
  readonly fd: number;
  readonly name: string;
}

function isStillInPlace({ root, folder, fd }: HeldFolder): boolean {
  try {
    return inFolder(root, folder, (self) => isSameFile(statSync(self), fstatSync(fd)));
  } catch (error) {
    if (lacksDescriptors(error)) throw error;
    return false;
  }
}

/** Whether this process, or the system, can open no other file; also of an error that has this cause. */
export function lacksDescriptors(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return code === "EMFILE" || code === "ENFILE" || (cause !== undefined && lacksDescriptors(cause));
}

function isSameFile(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

/** No symlink below the root is followed. */
export function openFolder(root: string, path: string): number {
  // The root is named by the user, who may have made a link of it.
  if (path === "") return openSync(root, constants.O_DIRECTORY | O_PATH);
  let fd = -1;
  try {
    for (const part of path.split("/")) {
      const from = fd < 0 ? root : `/proc/self/fd/${fd}`;
      const next = openSync(`${from}/${part}`, DIRECTORY);
      if (fd >= 0) closeSync(fd);
      fd = next;
    }
    return fd;
  } catch (error) {
    if (fd >= 0) closeSync(fd);
    throw error;
  }
}

/** Callers resolve paths first; a component that leads upwards has no business here. */
const UPWARDS = /(^|\/)\.\.?(\/|$)/;

function missingNameError(path: string): Error {
  return Object.assign(new Error(`ENOENT: not a plain path: '${path}'`), { code: "ENOENT" });
}

function checkedFolder(root: string, path: string): string {
  let at = root;
  for (const part of path.split("/")) {
    at = `${at}/${part}`;
    if (!lstatSync(at).isDirectory()) {
      throw Object.assign(new Error(`ENOTDIR: not a directory, open '${at}'`), { code: "ENOTDIR" });
    }
  }
  return at;
}
