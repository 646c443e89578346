import { type BigIntStats, lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { getXattr } from "../platform/xattr.ts";
import { namesIn, walkBytes } from "./byte-names.ts";
import { type WalkOptions, walkFolder } from "./walk-folder.ts";

/** A root of the transaction and the upper laid over it. */
export interface LaidRoot {
  readonly path: string;
  readonly upper: string;
  /**
   * Mounted by real root, with `redirect_dir`: a folder of the workspace is then renamed in one step, and its new name
   * in the upper says in an attribute where its contents lie.
   */
  readonly redirects: boolean;
}

/** One entry of an overlay's upper: what the job left at a path. */
export interface UpperEntry {
  readonly path: string;
  readonly stats: BigIntStats;
  /**
   * `gone`: the path was deleted. `opaque`: a folder under which nothing of the workspace's shows at this path.
   * `no-text`: whatever it is, its name is no UTF-8, and `path` is only for people to read.
   */
  readonly kind: "file" | "symlink" | "directory" | "opaque" | "gone" | "other" | "no-text";
  /** Opaque only because a folder above it is: the kernel marks no more than the uppermost. */
  readonly inherits: boolean;
  /** Where it lies in the workspace, when the job moved it with its folder; it is not in the upper then. */
  readonly source?: string;
}

/** `unlock` opens folders that shut out their owner; only where nothing runs above the upper any more. */
export function* walkUpper(root: LaidRoot, options: WalkOptions = {}): Generator<UpperEntry> {
  const opaque = new Set<string>();
  const lowers = new Map<string, string | null>();
  for (const { path, stats, noText } of walkFolder(root.upper, { ...options, noText: true })) {
    if (noText) {
      yield { path, stats, kind: "no-text", inherits: false };
      continue;
    }
    if (!stats.isDirectory()) {
      yield { path, stats, kind: upperKindOf(stats), inherits: false };
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

/** What an opaque folder of the upper takes from the one below it; `noText` as people can read it. */
export function namesTakenFromLower(root: LaidRoot, path: string) {
  const kept = new Set(namesIn(join(root.upper, path)).texts);
  const below = join(root.path, path);
  const { texts, bytes } = namesIn(below);
  return {
    paths: texts.filter((name) => !kept.has(name)).map((name) => `${path}/${name}`),
    noText: [...walkBytes(below, path, bytes)].map(({ shown }) => shown),
  };
}

/** What came with a folder from its former place and was not touched since. */
function* movedIn(root: LaidRoot, path: string, lower: string): Generator<UpperEntry> {
  const from = join(root.path, lower);
  const there = new Set(namesIn(join(root.upper, path)).texts);
  const names = namesIn(from);
  for (const { shown, stats } of walkBytes(from, path, names.bytes))
    yield { path: shown, stats, kind: "no-text", inherits: true };
  for (const name of names.texts) {
    if (there.has(name)) continue;
    const source = join(from, name);
    const stats = lstatSync(source, { bigint: true });
    yield { path: `${path}/${name}`, stats, kind: movedKind(stats), inherits: true, source };
    if (stats.isDirectory())
      for (const below of walkFolder(source, { noText: true }))
        yield {
          path: `${path}/${name}/${below.path}`,
          stats: below.stats,
          kind: below.noText ? "no-text" : movedKind(below.stats),
          inherits: true,
          source: join(source, below.path),
        };
  }
}

function movedKind(stats: BigIntStats): UpperEntry["kind"] {
  return stats.isDirectory() ? "opaque" : upperKindOf(stats);
}

/**
 * Which folder of the workspace shows through a folder of the upper; null where none does. `above` is what shows
 * through its parent.
 */
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

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function upperKindOf(stats: BigIntStats): UpperEntry["kind"] {
  if (stats.isCharacterDevice() && stats.rdev === 0n) return "gone";
  if (stats.isFile()) return "file";
  return stats.isSymbolicLink() ? "symlink" : "other";
}
