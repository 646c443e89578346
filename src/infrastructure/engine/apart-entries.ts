/**
 * What a job writes where a copy only stands for another mount, or for a folder that may not be read. In: a copy as it was at begin
 * and as the job left it. Out: the paths that are thrown away with the copy, and among them the only copies of what the job deletes.
 * Invariant: a deletion whose content is only in the lost part is not committed; other lost entries keep no job from landing.
 */
import { basename, join } from "node:path";
import { foldersAbove } from "../../domain/platform/paths.ts";
import { type Identity, identifyAt } from "../platform/entry-identity.ts";
import { type WalkedEntry, walkFolder } from "../platform/walk-folder.ts";
import { hashAt } from "./compare-entries.ts";
import { type CopiedRoot, isApart, isHidden, type Manifest } from "./copied-roots.ts";

/** The paths of a copy at begin that only stand for something. */
export function listStandIns({ copy }: CopiedRoot, manifest: Manifest): ReadonlySet<string> {
  if (manifest.hidden.size + manifest.mounts.size === 0) return new Set();
  const paths = [...walkFolder(copy)].map(({ path }) => path);
  return new Set(paths.filter((path) => isApart(manifest, path)));
}

interface LostIn {
  readonly root: CopiedRoot;
  readonly manifest: Manifest;
  readonly found: readonly WalkedEntry[];
  /** The paths of those found. */
  readonly seen: ReadonlySet<string>;
  readonly standIns: ReadonlySet<string>;
  readonly started: bigint;
}

interface LostFile {
  readonly path: string;
  readonly now: Identity;
}

/** Which changes are thrown away with the copy, and the entries that the job wrote there. */
export function findLost({ root, manifest, found, seen, standIns, started }: LostIn) {
  const isWritten = ({ path, stats }: WalkedEntry) =>
    standIns.has(path)
      ? !stats.isDirectory() && stats.ctimeNs >= started
      : stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
  const written = found.filter((entry) => isApart(manifest, entry.path) && isWritten(entry));
  const files = written.map(({ path }): LostFile => {
    return { path, now: identifyAt(join(root.copy, path)) as Identity };
  });
  const isInMount = (path: string) => !manifest.mounts.has(path) && isHidden(manifest.mounts, path);
  const removed = [...standIns].filter((path) => !seen.has(path) && isInMount(path));
  return { files, paths: [...written.map(({ path }) => path), ...removed] };
}

/** Paths without the folders of others among them, in their order. */
export function withoutParents(paths: readonly string[]): string[] {
  const parents = new Set(paths.flatMap((path) => [...foldersAbove(path)]));
  return paths.filter((path) => !parents.has(path)).sort();
}

/**
 * The lost entries that equal a file or link which the job deletes elsewhere. An empty file counts under its own name only; files
 * that are too large to be read are compared by size.
 */
export function movedAway(
  { copy }: CopiedRoot,
  lost: readonly LostFile[],
  gone: readonly (readonly [string, Identity])[],
  hashOfGone: (path: string, then: Identity) => string | undefined,
): string[] {
  if (lost.length === 0) return [];
  const bySize = Map.groupBy(gone, ([, { kind, size }]) => `${kind}:${size}`);
  return lost.flatMap(({ path, now }) => {
    if (now.kind !== "file" && now.kind !== "symlink") return [];
    const alike = bySize.get(`${now.kind}:${now.size}`) ?? [];
    if (now.kind === "file" && now.size === 0)
      return alike.some(([was]) => basename(was) === basename(path)) ? [path] : [];
    const hash = alike.length === 0 ? undefined : hashAt(join(copy, path), now, false);
    return alike.some(([was, then]) => hashOfGone(was, then) === hash) ? [path] : [];
  });
}
