import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  unlinkSync,
} from "node:fs";
import { join, relative } from "node:path";
import { tryFlock } from "../platform/file-lock.ts";
import { inParent } from "./anchor.ts";
import { removeTree } from "./remove-tree.ts";
import { isInside } from "./git-roots.ts";
import { seedHome } from "./seed-home.ts";
import type { ShownHome } from "./shown-home.ts";

/** A private home as a sandbox mounts it: the allowed files, and above them a layer for each allowed folder. */
export interface PrivateHome {
  readonly path: string;
  /** Where writes go: `NAME/u` and `NAME/w` for each layer. */
  readonly folder: string;
  /** Homes of others that show through, laid out alike, uppermost first. */
  readonly below: readonly string[];
  /** What lies under all of them. */
  readonly seed: string;
  /** The home itself comes first. */
  readonly layers: readonly HomeLayer[];
  /** Folders that are shown read-only, since no layer can be laid over them. */
  readonly shown: readonly string[];
}

export interface HomeLayer {
  readonly path: string;
  readonly name: string;
  /** Those of `below` that have something here, by their places. */
  readonly below: readonly number[];
}

export interface OpenedHome {
  readonly home: PrivateHome;
  readonly release: () => void;
}

interface PrivateHomeRequest {
  readonly shown: ShownHome;
  /** The folder of the job's own home. */
  readonly own: string;
  /** What is mounted on this machine, and below which nobody but root can lay an overlay. */
  readonly mounts: readonly string[];
  /** Folders that will be mounted in the home. */
  readonly places: readonly string[];
}

/** The layer of the home itself; the names of the others begin with it. */
const BASE = "~";

/**
 * The home that the jobs of a workspace share, so that caches persist; while another job holds it, one of the job's
 * own, which goes with the job.
 */
export function openPrivateHome(parts: PrivateHomeRequest & { readonly shared: string }): OpenedHome {
  const { shared, own } = parts;
  mkdirSync(shared, { recursive: true, mode: 0o700 });
  const fd = openSync(shared, "r");
  const locked = tryFlock(fd, "exclusive");
  if (!locked.ok) closeSync(fd);
  const home = layOutHome(parts, { folder: locked.ok ? shared : own, below: [] });
  const release = () => {
    unlockWork(home);
    if (locked.ok) closeSync(fd);
    removeTree(own);
  };
  return { home, release };
}

/**
 * A home of one's own above those below. It waits for nobody: the homes below may be in use, and what their jobs write
 * meanwhile may show or not.
 */
export function openStackedHome(
  parts: PrivateHomeRequest & { readonly below: readonly string[] },
): OpenedHome {
  for (const name of existsSync(parts.own) ? readdirSync(parts.own) : [])
    removeTree(join(parts.own, name, "w"));
  const home = layOutHome(parts, { folder: parts.own, below: parts.below });
  return { home, release: () => unlockWork(home) };
}

function layOutHome(
  { shown, own, mounts, places }: PrivateHomeRequest,
  { folder, below }: Pick<PrivateHome, "folder" | "below">,
): PrivateHome {
  const { path: home } = shown;
  const seed = join(own, "seed");
  removeTree(seed);
  seedHome(seed, shown);
  const canBeLaid = (path: string) =>
    process.getuid?.() === 0 || !mounts.some((mount) => mount !== path && isInside(path, mount));
  // The kernel refuses layers of which one lies inside another.
  const apart = shown.folders.filter((path) => !isInside(path, folder) && !isInside(path, own));
  const layers = [home, ...apart.filter(canBeLaid)].map((path): HomeLayer => {
    const name = `${BASE}${encodeURIComponent(relative(home, path))}`;
    const uppers = below.map((one) => join(one, name, "u"));
    return { path, name, below: [...uppers.keys()].filter((i) => existsSync(uppers[i] as string)) };
  });
  // Earlier layouts had other names.
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (!name.startsWith(BASE) && join(folder, name) !== seed) removeTree(join(folder, name));
  for (const { name } of layers)
    for (const part of ["u", "w"]) mkdirSync(join(folder, name, part), { recursive: true, mode: 0o700 });
  const readOnly = apart.filter((path) => !canBeLaid(path));
  for (const path of [...apart, ...places])
    if (isInside(home, path) && path !== home) makeFolders(join(folder, BASE, "u"), relative(home, path));
  return { path: home, folder, below, seed, layers, shown: readOnly };
}

/** The kernel leaves a folder without permissions in a work folder; whoever cleans up must be able to enter it. */
function unlockWork({ folder, layers }: PrivateHome): void {
  for (const { name } of layers) {
    const work = join(folder, name, "w");
    for (const inner of existsSync(work) ? readdirSync(work) : []) chmodSync(join(work, inner), 0o700);
  }
}

/**
 * Makes the place where something will be mounted. What stands in the upper was left by commands of earlier jobs: a link
 * of theirs would lead the mount elsewhere, and gives way.
 */
function makeFolders(upper: string, path: string): void {
  const parts = path.split("/");
  for (let i = 1; i <= parts.length; i++)
    inParent(upper, parts.slice(0, i).join("/"), (parent, name) => {
      const at = `${parent}/${name}`;
      const there = lstatSync(at, { throwIfNoEntry: false });
      if (there?.isDirectory()) {
        if ((there.mode & 0o700) !== 0o700) chmodSync(at, 0o700);
        return;
      }
      if (there !== undefined) unlinkSync(at);
      mkdirSync(at, { mode: 0o755 });
    });
}
