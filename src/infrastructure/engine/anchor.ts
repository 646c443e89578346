import { closeSync, constants, lstatSync, openSync } from "node:fs";

/** Linux only; elsewhere a plain O_RDONLY descriptor serves (it needs read permission on the folder). */
const O_PATH = process.platform === "linux" ? 0o10000000 : 0;
const DIRECTORY = constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH;

/**
 * Runs `use` with a name for the folder that holds `path`, reached component by component from `root` without
 * following a symlink. On Linux the name goes through an open descriptor (`/proc/self/fd/N`), so a component
 * that is swapped for a symlink afterwards changes nothing. Elsewhere each component is checked before use.
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

export interface Anchors {
  readonly inParent: typeof inParent;
  readonly close: () => void;
}

/**
 * `inParent` for many paths in a row, of which neighbours share their folder: the last folder stays open for the next
 * path. Only where nothing is moved in between: what was opened stays what it is, wherever it goes.
 */
export function createAnchors(): Anchors {
  let held: { readonly key: string; readonly fd: number } | null = null;
  const close = () => {
    if (held !== null) closeSync(held.fd);
    held = null;
  };
  return {
    close,
    inParent(root, path, use) {
      const slash = path.lastIndexOf("/");
      const folder = path.slice(0, slash);
      if (process.platform !== "linux" || slash < 0 || UPWARDS.test(path)) return inParent(root, path, use);
      const key = `${root}\0${folder}`;
      if (held?.key !== key) {
        close();
        held = { key, fd: openFolder(root, folder) };
      }
      return use(`/proc/self/fd/${held.fd}`, path.slice(slash + 1));
    },
  };
}

function openFolder(root: string, path: string): number {
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
