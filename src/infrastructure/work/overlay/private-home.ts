import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { makeWhiteout } from "../../runtime/confined-process.ts";
import { tryFlock } from "../../runtime/file-lock.ts";
import { inParent } from "../folder/anchor.ts";
import { removeTree } from "../folder/remove-tree.ts";
import { isInside } from "../transaction/git-roots.ts";

/** A folder of the home and where writes to it go. */
export interface HomeLayer {
  readonly path: string;
  readonly folder: string;
  /** The lowest layer, where it is not what stands at `path`. */
  readonly bottom?: string;
  /** Layers between, uppermost first. */
  readonly lowers?: readonly string[];
}

export interface PrivateHome {
  readonly layers: readonly HomeLayer[];
  readonly release: () => void;
}

/**
 * The home that the jobs of a workspace share, so that caches persist; while another job holds it, one of the job's
 * own, which goes with the job. `folders` get a layer each; `secrets` are absolute paths that no job may see.
 */
export function openPrivateHome(at: {
  readonly shared: string;
  readonly own: string;
  readonly folders: readonly string[];
  readonly secrets: readonly string[];
  /** The job stays open: a home of its own is kept for its next sandbox. */
  readonly stays: boolean;
}): PrivateHome {
  mkdirSync(at.shared, { recursive: true, mode: 0o700 });
  const fd = openSync(at.shared, "r");
  const isShared = !existsSync(at.own) && tryFlock(fd, "exclusive").ok;
  if (!isShared) closeSync(fd);
  const folder = isShared ? at.shared : at.own;
  const layers = at.folders.map((path) => ({
    path,
    folder: join(folder, encodeURIComponent(basename(path))),
  }));
  for (const layer of layers) prepareLayer(layer, at.secrets);
  const release = () => {
    for (const layer of layers) unlockWork(layer);
    if (isShared) closeSync(fd);
    else if (!at.stays) removeTree(at.own);
  };
  return { layers, release };
}

/** The kernel leaves a folder without permissions in a work folder; whoever cleans up must be able to enter it. */
function unlockWork({ folder }: HomeLayer): void {
  const work = join(folder, "w");
  for (const name of existsSync(work) ? readdirSync(work) : []) chmodSync(join(work, name), 0o700);
}

/**
 * Lays out an upper. Secrets are marked as absent in it, once: reads find nothing there, and what a command makes in
 * their place stays in the upper, which is never committed.
 */
export function prepareLayer({ path, folder }: HomeLayer, secrets: readonly string[]): void {
  for (const name of ["u", "w"]) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  for (const secret of secrets)
    if (isInside(path, secret) && secret !== path)
      markAbsent(join(folder, "u"), path, relative(path, secret));
}

/**
 * What stands in the upper was left by commands of earlier jobs: no symlink of theirs is followed, and where they
 * removed or replaced a parent, nothing of the real home shows through it any more.
 */
function markAbsent(upper: string, home: string, path: string): void {
  const parts = path.split("/");
  for (let i = 1; i <= parts.length; i++) {
    const at = parts.slice(0, i).join("/");
    const goesOn = inParent(upper, at, (parent, name) => {
      const mark = `${parent}/${name}`;
      const there = lstatSync(mark, { throwIfNoEntry: false });
      if (i === parts.length) {
        if (there === undefined) makeWhiteout(mark);
        return false;
      }
      if (there === undefined) {
        mkdirSync(mark);
        chmodSync(mark, (lstatSync(join(home, at)).mode & 0o7777) | 0o700);
      }
      return there === undefined || there.isDirectory();
    });
    if (!goesOn) return;
  }
}
