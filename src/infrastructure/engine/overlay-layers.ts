import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, closeSync, lstatSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type EntryState, ViewFault, type WorkspaceFiles } from "../../application/ports/platform-view.ts";
import type { LayeredPath } from "../../application/ports/sandbox.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { statEntryAt } from "../platform/entry-identity.ts";
import { type EntryStats, lstatEntry } from "../platform/entry-stats.ts";
import { SYSTEM_PATH } from "../platform/find-program.ts";
import { createWorkspaceFiles, currentEntryBelow } from "../platform/folder-view.ts";
import { inFolder } from "../platform/open-folder.ts";
import { bytesBelow } from "../platform/read-file.ts";
import { isFolder } from "../platform/text-files.ts";
import { namesIn, type WalkOptions, walkBytes, walkFolder } from "../platform/walk-folder.ts";
import { copyXattrs, getXattr, listXattrs, removeXattr } from "../platform/xattr.ts";
import type { LaidRoot } from "../sandbox/create-sandbox.ts";

/** One entry of an overlay's upper: what the job left at a path. */
export interface UpperEntry {
  readonly path: string;
  readonly stats: EntryStats;
  /** `gone`: deleted. `opaque`: a folder that shows nothing of the workspace's. `no-text`: a name that is not UTF-8, for display only. */
  readonly kind: "file" | "symlink" | "directory" | "opaque" | "gone" | "other" | "no-text";
  /** Opaque only because a folder above it is: the kernel marks no more than the uppermost. */
  readonly inherits: boolean;
  /** Its place in the workspace, when the job moved it with its folder; it is not in the upper then. */
  readonly source?: string;
  /** As that of `WalkedEntry`. */
  readonly near?: string;
}

/** `unlock` opens folders that shut out their owner; only where nothing runs above the upper any more. */
export function* walkUpper(root: LaidRoot, options: WalkOptions = {}): Generator<UpperEntry> {
  const opaque = new Set<string>();
  const lowers = new Map<string, string | null>();
  for (const { path, stats, noText, near } of walkFolder(root.upper, { ...options, noText: true })) {
    if (noText) {
      yield { path, stats, kind: "no-text", inherits: false };
      continue;
    }
    if (!stats.isDirectory()) {
      const kind = upperKindOf(stats);
      yield near === undefined
        ? { path, stats, kind, inherits: false }
        : { path, stats, kind, inherits: false, near };
      continue;
    }
    const parent = dirname(path);
    const above = parent === "." ? "" : (lowers.get(parent) ?? null);
    const lower = lowerFolderOf(root, path, above);
    lowers.set(path, lower);
    const inherits = opaque.has(parent);
    const isOpaque = inherits || lower !== path;
    if (isOpaque) opaque.add(path);
    yield { path, stats, kind: isOpaque ? "opaque" : "directory", inherits };
    if (lower !== null && lower !== path) yield* movedIn(root, path, lower);
  }
}

/** Whether a folder of the workspace was moved as a whole; true also if that is unknown. Only folders are checked. */
export function mayHaveMovedFolders({ upper, redirects }: LaidRoot): boolean {
  if (!redirects) return false;
  const pending = [upper];
  try {
    for (let at = pending.pop(); at !== undefined; at = pending.pop())
      for (const entry of readdirSync(at, { withFileTypes: true })) {
        if (!entry.isDirectory()) continue;
        const path = `${at}/${entry.name}`;
        if (getXattr(path, "trusted.overlay.redirect").ok) return true;
        pending.push(path);
      }
    return false;
  } catch {
    return true;
  }
}

/** The names that an opaque folder of the upper takes from the one below it. */
export function namesTakenFromLower(root: LaidRoot, path: string) {
  const upper = join(root.upper, path);
  const kept = new Set(statEntryAt(upper)?.isDirectory() === true ? namesIn(upper).texts : []);
  const below = join(root.path, path);
  const { texts, bytes } = namesIn(below);
  return {
    paths: texts.filter((name) => !kept.has(name)).map((name) => `${path}/${name}`),
    noText: [...walkBytes(below, path, bytes)].map(({ shown }) => shown),
  };
}

/** The entries that were moved along with a folder and were not touched since. */
function* movedIn(root: LaidRoot, path: string, lower: string): Generator<UpperEntry> {
  const from = join(root.path, lower);
  const there = new Set(namesIn(join(root.upper, path)).texts);
  const names = namesIn(from);
  for (const { shown, stats } of walkBytes(from, path, names.bytes))
    yield { path: shown, stats, kind: "no-text", inherits: true };
  for (const name of names.texts) {
    if (there.has(name) || root.hides.has(`${lower}/${name}`)) continue;
    const source = join(from, name);
    const stats = lstatEntry(source);
    if (stats === undefined) continue;
    yield { path: `${path}/${name}`, stats, kind: movedKind(stats), inherits: true, source };
    if (stats.isDirectory())
      for (const below of walkFolder(source, { noText: true })) {
        if (root.hides.has(`${lower}/${name}/${below.path}`)) continue;
        yield {
          path: `${path}/${name}/${below.path}`,
          stats: below.stats,
          kind: below.noText ? "no-text" : movedKind(below.stats),
          inherits: true,
          source: join(source, below.path),
        };
      }
  }
}

function movedKind(stats: EntryStats): UpperEntry["kind"] {
  return stats.isDirectory() ? "opaque" : upperKindOf(stats);
}

/** Which folder of the workspace shows through a folder of the upper; null: none. `above`: what shows through its parent. */
export function lowerFolderOf(
  { path: root, upper, redirects }: LaidRoot,
  path: string,
  above: string | null,
): string | null {
  const at = `${upper}/${path}`;
  const marks = redirects ? "trusted.overlay" : "user.overlay";
  const opaque = getXattr(at, `${marks}.opaque`);
  if (opaque.ok && opaque.value[0] === "y".charCodeAt(0)) return null;
  const redirect = redirects ? getXattr(at, `${marks}.redirect`) : null;
  if (redirect?.ok) {
    const to = Buffer.from(redirect.value).toString("utf8").replace(/\0+$/, "");
    const lower = to.startsWith("/") ? to.slice(1) : above === null ? null : join(above, to);
    return lower !== null && isFolder(join(root, lower)) ? lower : null;
  }
  if (above === null) return null;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return above === "" ? name : `${above}/${name}`;
}

function upperKindOf(stats: EntryStats): UpperEntry["kind"] {
  if (stats.isCharacterDevice() && stats.rdev === 0) return "gone";
  if (stats.isFile()) return "file";
  return stats.isSymbolicLink() ? "symlink" : "other";
}

const MARK = /^(user|trusted)\.overlay\./;

/** Copied-up files carry the overlay's own attributes; in the workspace they would confuse the next overlay. */
export function stripMarks(path: string, mode = lstatSync(path).mode & 0o7777): void {
  const names = listXattrs(path);
  const marks = names.ok ? names.value.filter((name) => MARK.test(name)) : [];
  if (marks.length === 0) return;
  const isShut = (mode & 0o600) !== 0o600;
  if (isShut) chmodSync(path, mode | 0o600);
  for (const name of marks) removeXattr(path, name);
  if (isShut) chmodSync(path, mode);
}

/** Creates a copy of an upper's folder with owner, attributes and access lists, but without the overlay's marks. */
export function makeFreshFolder(at: string, from: string, stats: EntryStats): void {
  const mode = stats.permissions;
  mkdirSync(at);
  if (process.getuid?.() === 0) chownSync(at, stats.uid, stats.gid);
  const descriptor = openSync(at, "r");
  copyXattrs(from, descriptor);
  closeSync(descriptor);
  chmodSync(at, mode);
  stripMarks(at, mode);
}

/** In the upper when the job changed it, else below; null where the view has nothing. */
export function findLayeredPath(roots: readonly LaidRoot[], absolute: string): LayeredPath | null {
  const root = laidRootOf(roots, absolute);
  if (root === undefined) return null;
  const below = relative(root.path, absolute);
  const parts = below.split("/");
  let lower: string | null = "";
  for (let i = 1; i <= parts.length; i++) {
    const path = parts.slice(0, i).join("/");
    const stats = lstatEntry(`${root.upper}/${path}`);
    if (stats === undefined) {
      if (lower === null) return null;
      return { root: root.path, below: [...(lower === "" ? [] : [lower]), ...parts.slice(i - 1)].join("/") };
    }
    if (stats.isCharacterDevice() && stats.rdev === 0) return null;
    if (!stats.isDirectory()) return i === parts.length ? { root: root.upper, below } : null;
    lower = path === "" ? "" : lowerFolderOf(root, path, lower);
    if (i === parts.length) return { root: root.upper, below, ...(lower !== null && { shows: lower }) };
  }
  return null;
}

function laidRootOf(roots: readonly LaidRoot[], absolute: string): LaidRoot | undefined {
  return roots.find(({ path }) => isInside(path, absolute));
}

export function lookThrough(
  roots: readonly LaidRoot[],
  absolute: string,
  when: "before" | "after",
): EntryState | null {
  if (when === "after") {
    const place = findLayeredPath(roots, absolute);
    return place === null ? null : currentEntryBelow(place.root, place.below);
  }
  const root = laidRootOf(roots, absolute);
  return root === undefined ? null : currentEntryBelow(root.path, relative(root.path, absolute));
}

/** The bytes at an absolute path as the job found them; null where no file was. */
export function originalBytes(roots: readonly LaidRoot[], absolute: string): Uint8Array | null {
  const root = laidRootOf(roots, absolute);
  return root === undefined ? null : bytesBelow(root.path, relative(root.path, absolute));
}

/** The bytes at an absolute path as the view has them; null if it is not a file. */
export function currentBytes(roots: readonly LaidRoot[], absolute: string): Uint8Array | null {
  const place = findLayeredPath(roots, absolute);
  return place === null ? null : bytesBelow(place.root, place.below);
}

/** The files of a job whose sandbox is not running: its uppers over the workspace. No symlink is followed. */
export function createLayeredFiles(roots: readonly LaidRoot[], workspace: string): WorkspaceFiles {
  const files = new Map<string, WorkspaceFiles>();
  const filesOf = (base: string) => {
    const known = files.get(base) ?? createWorkspaceFiles(base);
    files.set(base, known);
    return known;
  };
  const absolute = (path: string) => (path === "" ? workspace : join(workspace, path));
  const at = (path: string): LayeredPath => {
    const place = UPWARDS.test(path) ? null : findLayeredPath(roots, absolute(path));
    if (place === null) throw new ViewFault("missing", path, `no such file or directory: ${path}`);
    return place;
  };
  return {
    look(path) {
      if (UPWARDS.test(path)) return { kind: "missing" };
      const place = findLayeredPath(roots, absolute(path));
      return place === null ? { kind: "missing" } : filesOf(place.root).look(place.below);
    },
    list(path) {
      const place = at(path);
      const root = roots.find(({ upper }) => upper === place.root);
      if (root === undefined) return filesOf(place.root).list(place.below);
      if (filesOf(place.root).look(place.below).kind !== "directory")
        return filesOf(place.root).list(place.below);
      return inFolder(root.upper, place.below, (folder) => {
        const names = readdirSync(folder);
        const own = names.filter((name) => !isWhiteout(`${folder}/${name}`));
        const shows = place.shows !== undefined && filesOf(root.path).look(place.shows).kind === "directory";
        const below = shows ? filesOf(root.path).list(place.shows as string) : [];
        const hidden = new Set(names);
        return [...own, ...below.filter((name) => !hidden.has(name))];
      });
    },
    read(path) {
      const place = at(path);
      return filesOf(place.root).read(place.below);
    },
    readPart(path, offset, length) {
      const place = at(path);
      return filesOf(place.root).readPart(place.below, offset, length);
    },
  };
}

/** Callers resolve paths first; a component that leads upwards names nothing here. */
const UPWARDS = /(^|\/)\.\.?(\/|$)/;

function isWhiteout(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isCharacterDevice() === true && stats.rdev === 0;
}

/** Copies with `cp`, marks and attributes too; blocks are shared where the file system can. Its complaint, or null. */
export function copyMarked(words: readonly string[]): string | null {
  const env = { PATH: SYSTEM_PATH, LC_ALL: "C" };
  const ran = spawnSync("cp", ["-a", "--reflink=auto", ...words], { encoding: "utf8", env });
  return ran.status === 0 ? null : ran.stderr?.trim() || String(ran.error?.message ?? ran.status);
}
