import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { tryFlock } from "../platform/libc.ts";
import { inParent } from "../platform/open-folder.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { walkFolder } from "../platform/walk-folder.ts";
import { getXattr } from "../platform/xattr.ts";
import { ALLOWED_FILES, ALLOWED_FOLDERS, stripSecrets } from "./home-lists.ts";
import { belowHome } from "./homes-inside.ts";

/** The parts of one home that a job may see; every path is below it and exists. */
export type ShownHome = ReturnType<typeof findShownHome>;

/** `more`: what the user allows beyond what tools need, with or without `~/`. */
export function findShownHome(home: string, more: readonly string[]) {
  const named = more.flatMap((entry) => belowHome(home, entry));
  const folders = new Set<string>();
  const files = new Map<string, boolean>();
  const links = new Map<string, string>();
  const show = (path: string, whole: boolean) => {
    const found = lookAtHomeEntry(home, join(home, path));
    if (found === null) return;
    for (const link of found.links) links.set(link.path, link.target);
    if (found.kind === "folder") folders.add(found.path);
    if (found.kind === "file") files.set(found.path, whole);
  };
  for (const path of ALLOWED_FILES) show(path, false);
  for (const path of [...ALLOWED_FOLDERS, ...named]) show(path, named.includes(path));
  const outermost = (path: string) => [...folders].every((other) => other === path || !isInside(other, path));
  return {
    path: home,
    /** No folder is inside another. */
    folders: [...folders].filter(outermost),
    /** `whole`: named by the user, and shown with every line. */
    files: [...files].filter(([path]) => outermost(path)).map(([path, whole]) => ({ path, whole })),
    links: [...links].filter(([path]) => outermost(path)).map(([path, target]) => ({ path, target })),
  };
}

/** The target of a name. A link inside the home is shown with its target; one to the home or above it would show everything. */
function lookAtHomeEntry(home: string, path: string) {
  return attemptOr(null, () => {
    // Most of the names that tools use do not exist: an error for each would cost more than the look-up.
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    const real = realpathSync(path);
    const own = join(realpathSync(dirname(path)), path.slice(dirname(path).length + 1));
    if (isInside(real, home) || !isInside(home, own)) return null;
    const links = lstatSync(own).isSymbolicLink() ? [{ path: own, target: real }] : [];
    if (!isInside(home, real)) return { kind: "elsewhere" as const, path: real, links };
    if (stats.isDirectory()) return { kind: "folder" as const, path: real, links };
    return stats.isFile() ? { kind: "file" as const, path: real, links } : null;
  });
}

/** Makes the folder below a job's home: the files and links that it may see, and nothing else. */
export function seedHome(seed: string, { path: home, files, links }: ShownHome): void {
  mkdirSync(seed, { recursive: true, mode: 0o700 });
  const place = (path: string) => {
    const to = join(seed, relative(home, path));
    mkdirSync(dirname(to), { recursive: true });
    return to;
  };
  // The job does not see an entry that its owner cannot read or removes meanwhile.
  for (const { path, whole } of files)
    succeeds(() => {
      if (whole) copyFileSync(path, place(path));
      else writeFileSync(place(path), stripSecrets(readFileSync(path, "utf8")));
      chmodSync(place(path), lstatSync(path).mode & 0o777);
    });
  for (const { path, target } of links)
    if (lstatSync(place(path), { throwIfNoEntry: false }) === undefined) symlinkSync(target, place(path));
}

/** A private home as a sandbox mounts it: the allowed files, and above them a layer for each allowed folder. */
export interface PrivateHome {
  readonly path: string;
  /** Where writes go: `NAME/u` and `NAME/w` for each layer. */
  readonly folder: string;
  /** Homes of others that show through, laid out alike, uppermost first. */
  readonly below: readonly string[];
  /** The layer below all of them. */
  readonly seed: string;
  /** The home itself is first. */
  readonly layers: readonly HomeLayer[];
  /** Folders that are shown read-only, since no layer can be laid over them. */
  readonly shown: readonly string[];
}

interface HomeLayer {
  readonly path: string;
  readonly name: string;
  /** The homes of `below` that have entries here, by their paths. */
  readonly below: readonly number[];
}

export interface OpenedHome {
  readonly home: PrivateHome;
  /** The new location of a home that an earlier job left unusable; null if none had to be moved aside. */
  readonly putAside: string | null;
  /** Returns the place of a home that was put aside because this job left it unusable. */
  readonly release: () => string | null;
}

interface PrivateHomeRequest {
  readonly shown: ShownHome;
  readonly own: string;
  /** The mounts of this machine, below which only root can lay an overlay. */
  readonly mounts: readonly string[];
  /** Folders that will be mounted in the home. */
  readonly places: readonly string[];
}

/** The layer of the home itself; the names of the others begin with it. */
const BASE = "~";

/** The home that a workspace's jobs share for its caches; while another job holds it, a separate one that is removed with the job. */
export function openPrivateHome(parts: PrivateHomeRequest & { readonly shared: string }): OpenedHome {
  const { shared, own } = parts;
  let lock = lockHome(shared);
  let putAside: string | null = null;
  if (lock !== null && isUnusable(shared)) {
    putAside = putHomeAside(shared, shared);
    closeSync(lock);
    lock = lockHome(shared);
  }
  const home = layOutHome(parts, { folder: lock === null ? own : shared, below: [] });
  const release = () => {
    removeWork(home);
    const left = lock !== null && isUnusable(shared) ? putHomeAside(shared, shared) : null;
    if (lock !== null) closeSync(lock);
    removeTree(own);
    return left;
  };
  return { home, putAside, release };
}

/** A descriptor that holds the lock; null while another job has it. */
function lockHome(shared: string): number | null {
  mkdirSync(shared, { recursive: true, mode: 0o700 });
  chmodSync(shared, 0o700);
  const fd = openSync(shared, "r");
  // Another job may have put this one aside since it was opened.
  const isThere = () => lstatSync(shared, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino;
  if (tryFlock(fd).ok && isThere()) return fd;
  closeSync(fd);
  return null;
}

/** Beside the home that jobs share; only the last one is kept. */
function asideOf(shared: string): string {
  return `${shared}-aside`;
}

function putHomeAside(home: string, shared: string): string {
  const aside = asideOf(shared);
  removeTree(aside);
  renameSync(home, aside);
  return aside;
}

/** Folders that every tool expects. */
const COMMON_FOLDERS = [".cache", ".config", ".local", ".local/share", ".npm"];

/** Whether no job can work in a home that was left: an inaccessible folder, or another entry in its place. Deleted folders do not count. */
function isUnusable(folder: string): boolean {
  const uppers = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(BASE)) : [];
  if (uppers.some((name) => hasShutFolder(join(folder, name, "u"), OPEN_DEPTH))) return true;
  return COMMON_FOLDERS.some((path) => isInTheWay(join(folder, BASE, "u", path)));
}

/** The home and the folders in it. */
const OPEN_DEPTH = 2;

function hasShutFolder(folder: string, depth: number): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return false;
  if ((stats.mode & 0o700) !== 0o700) return true;
  if (depth <= 1) return false;
  return readdirSync(folder, { withFileTypes: true }).some(
    (entry) => entry.isDirectory() && hasShutFolder(join(folder, entry.name), depth - 1),
  );
}

function isInTheWay(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && (stats.isFile() || stats.isFIFO() || stats.isSocket());
}

export function findHomeAside(shared: string): string | null {
  const aside = asideOf(shared);
  return existsSync(aside) ? aside : null;
}

/** Opens a home that was put aside and restores what the home in use lacks. False while a job holds that one. */
export function repairHome(shared: string): boolean {
  const aside = asideOf(shared);
  const lock = lockHome(shared);
  if (lock === null) return false;
  try {
    chmodSync(aside, 0o700);
    for (const _ of walkFolder(aside, { unlock: true }));
    for (const path of COMMON_FOLDERS) {
      const at = join(aside, BASE, "u", path);
      if (isInTheWay(at)) unlinkSync(at);
    }
    for (const name of readdirSync(aside).filter((one) => one.startsWith(BASE))) {
      const upper = join(aside, name, "u");
      if (!existsSync(upper)) continue;
      openShutFolders(upper, MENDED_DEPTH);
      mkdirSync(join(shared, name, "u"), { recursive: true, mode: 0o700 });
      mergeInto(upper, join(shared, name, "u"), { keeps: true });
    }
    removeTree(aside);
    return true;
  } finally {
    closeSync(lock);
  }
}

/** A separate home layered over others, without a lock: whether writes of the jobs below are seen is undefined. */
export function openStackedHome(
  parts: PrivateHomeRequest & { readonly below: readonly string[] },
): OpenedHome {
  const below = parts.below.filter((one) => !isUnusable(one));
  const home = layOutHome(parts, { folder: parts.own, below });
  const release = () => {
    removeWork(home);
    return null;
  };
  return { home, putAside: null, release };
}

/** Moves caches by content from a home that is thrown away into a layer for later ones. Commands wrote that home: no link is followed. */
export function keepContentCaches(home: string, into: string): void {
  for (const path of [".cache/go-build", ".cache/ccache", ".cache/sccache", ".ccache"])
    for (const at of [join(`${BASE}${encodeURIComponent(path)}`, "u"), join(BASE, "u", path)])
      attemptOr(undefined, () =>
        inParent(home, at, (folder, name) => {
          if (existsSync(join(into, at)) || !lstatSync(`${folder}/${name}`).isDirectory()) return;
          mkdirSync(dirname(join(into, at)), { recursive: true, mode: 0o700 });
          renameSync(`${folder}/${name}`, join(into, at));
        }),
      );
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
  // The kernel refuses layers of which one is inside another.
  const apart = shown.folders.filter((path) => !isInside(path, folder) && !isInside(path, own));
  const layers = [home, ...apart.filter(canBeLaid)].map((path): HomeLayer => {
    const name = `${BASE}${encodeURIComponent(relative(home, path))}`;
    const uppers = below.map((one) => join(one, name, "u"));
    return { path, name, below: [...uppers.keys()].filter((i) => existsSync(uppers[i] as string)) };
  });
  // Earlier layouts had other names.
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (!name.startsWith(BASE) && join(folder, name) !== seed) removeTree(join(folder, name));
  // Of a job that was killed.
  removeWork({ folder, layers });
  for (const { name } of layers)
    for (const part of ["u", "w"]) {
      const at = join(folder, name, part);
      mkdirSync(at, { recursive: true, mode: 0o700 });
      if (part === "u") openShutFolders(at, MENDED_DEPTH);
    }
  const readOnly = apart.filter((path) => !canBeLaid(path));
  for (const path of [...apart, ...places])
    if (isInside(home, path) && path !== home) makeFolders(join(folder, BASE, "u"), relative(home, path));
  return { path: home, folder, below, seed, layers, shown: readOnly };
}

/** The home, the folders in it, and those of the shelves that tools share. */
const MENDED_DEPTH = 3;

/** A command of an earlier job may have made the home inaccessible (`chmod 0 ~`) for every later job. */
function openShutFolders(folder: string, depth: number): void {
  const { mode } = lstatSync(folder);
  if ((mode & 0o700) !== 0o700) chmodSync(folder, (mode & 0o7777) | 0o700);
  if (depth <= 1) return;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) openShutFolders(join(folder, entry.name), depth - 1);
}

/** A volatile overlay refuses the work folder of another mount, and an overlay that is not volatile refuses it too. */
function removeWork({ folder, layers }: Pick<PrivateHome, "folder" | "layers">): void {
  for (const { name } of layers) removeTree(join(folder, name, "w"));
}

/** Creates the mount point. A link that an earlier job left there would redirect the mount, and is removed. */
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

/** Writes files into a home by their relative paths, replacing existing entries. */
export function placeHomeFiles(home: PrivateHome, files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    const layer = home.layers.findLast((one) => isInside(one.path, join(home.path, path)));
    if (layer === undefined) continue;
    const upper = join(home.folder, layer.name, "u");
    const below = relative(layer.path, join(home.path, path));
    if (dirname(below) !== ".") makeFolders(upper, dirname(below));
    inParent(upper, below, (parent, name) => {
      removeTree(`${parent}/${name}`);
      writeFileSync(`${parent}/${name}`, text, { flag: "wx", mode: 0o600 });
    });
  }
}

/**
 * Moves what a job left in its own home into the shared one, so that the next job finds its downloads; while another job
 * holds that one they are lost. A home left unusable is put aside; returns its new place.
 */
export function adoptHome(own: string, shared: string): string | null {
  if (!existsSync(own)) return null;
  if (isUnusable(own)) return putHomeAside(own, shared);
  const lock = lockHome(shared);
  if (lock === null) return null;
  try {
    for (const name of readdirSync(own)) {
      const upper = join(own, name, "u");
      if (!existsSync(upper)) continue;
      mkdirSync(join(shared, name, "u"), { recursive: true, mode: 0o700 });
      mergeInto(upper, join(shared, name, "u"));
    }
    return null;
  } finally {
    closeSync(lock);
  }
}

/** Merges folders through which the one below shows; anything else replaces the existing entry, or is left out if `keeps` protects that. */
function mergeInto(from: string, to: string, how: { readonly keeps?: boolean } = {}): void {
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    const there = lstatSync(target, { throwIfNoEntry: false });
    if (there?.isDirectory() && lstatSync(source).isDirectory() && !isOpaque(source)) {
      mergeInto(source, target, how);
      continue;
    }
    if (there !== undefined && how.keeps === true) continue;
    if (there !== undefined) removeTree(target);
    renameSync(source, target);
  }
}

function isOpaque(folder: string): boolean {
  const mark = getXattr(folder, "user.overlay.opaque");
  return mark.ok && mark.value[0] === "y".charCodeAt(0);
}

const MOST_NAMES = 200;

/** Existing paths of the home that a failed command's words name and no job sees; as `~/.foo`, the way of `worker.home_allow`. */
export function findHiddenHomePaths(
  words: string,
  at: {
    readonly shown: ShownHome;
    readonly seen: readonly string[];
    readonly path: string;
  },
): string[] {
  const { path: home, folders, files, links } = at.shown;
  const seen = [...folders, ...files.map(({ path }) => path), ...links.map(({ path }) => path), ...at.seen];
  const isHidden = (path: string) =>
    isInside(home, path) && path !== home && !seen.some((one) => isInside(one, path) || isInside(path, one));
  const named = [...namedPaths(words, home), ...missingPrograms(words, at.path)];
  const broken = named.filter((path) => isHidden(path) && existsSync(path));
  return [...new Set(broken.map((path) => `~/${entryOf(path.slice(home.length + 1))}`))];
}

/** The same for homes in the workspace: those of the hidden paths that these words name. */
export function findNamedInHomes(words: string, hidden: readonly string[], home: string): string[] {
  const named = namedPaths(words, "/").concat(namedPaths(words, home));
  const found = hidden.filter((path) => named.some((one) => isInside(path, one)));
  return found.map((path) => (isInside(home, path) ? `~/${relative(home, path)}` : path));
}

function namedPaths(words: string, home: string): string[] {
  const found: string[] = [];
  for (const [, prefix, rest = ""] of words.matchAll(
    /(~|\$HOME|\/[^\s'"`:;,()<>|]*?)(\/[^\s'"`:;,()<>|]+)/g,
  )) {
    const whole = `${prefix}${rest}`;
    const path = prefix === "~" || prefix === "$HOME" ? join(home, rest) : whole;
    if (isInside(home, path)) found.push(path.replace(/[.!?]+$/, ""));
    if (found.length >= MOST_NAMES) break;
  }
  return found;
}

/** Programs that a shell or `env` did not find, in the folders of PATH that have them. */
function missingPrograms(words: string, path: string): string[] {
  const names = new Set<string>();
  for (const [, name = ""] of words.matchAll(/(?:^|[\s:])([\w.+-]+): (?:command )?not found/gm))
    names.add(name);
  for (const [, name = ""] of words.matchAll(/env: .?([\w.+-]+).?: No such file/g)) names.add(name);
  const folders = path.split(":").filter((folder) => folder.startsWith("/"));
  return [...names].flatMap((name) => folders.map((folder) => join(folder, name)));
}

/** Folders shared by many tools are not entries themselves. */
const SHELVES = [".config", ".cache", ".local/share", ".local/state", ".local"];

function entryOf(path: string): string {
  const shelf = SHELVES.find((one) => path.startsWith(`${one}/`));
  const parts = path.split("/");
  return parts.slice(0, shelf === undefined ? 1 : shelf.split("/").length + 1).join("/");
}

/** Files that commands left in a private home, relative to it; the first ones where there are more. */
export function listHomeTraces(folder: string, most: number): string[] {
  const found: string[] = [];
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const upper = join(folder, name, "u");
    if (!name.startsWith(BASE) || !existsSync(upper)) continue;
    const place = decodeURIComponent(name.slice(BASE.length));
    const folders = [""];
    for (let at = folders.shift(); at !== undefined && found.length < most; at = folders.shift())
      for (const entry of readdirSync(join(upper, at), { withFileTypes: true })) {
        const path = join(at, entry.name);
        if (entry.isDirectory()) folders.push(path);
        else if (found.length < most) found.push(join(place, path));
      }
  }
  return found;
}
