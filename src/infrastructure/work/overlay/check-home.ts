import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  type Stats,
  symlinkSync,
} from "node:fs";
import { basename, join } from "node:path";
import { getXattr } from "../../runtime/xattr.ts";
import type { HomeShape } from "./home-pieces.ts";
import { type HomeLayer, prepareLayer } from "./private-home.ts";

export interface CheckHome {
  /** A throw-away folder that stands for the home. */
  readonly base: string;
  readonly layers: readonly HomeLayer[];
  /** Shown as they are, read-only: what is too large to be copied, folders with a mount below. */
  readonly pieces: NonNullable<HomeShape["pieces"]>;
}

/** A file of the home that is larger is not copied for a check. */
const COPIED_BYTES = 1024 * 1024;

/**
 * The home of a check: everything that jobs see in theirs, and every write thrown away. PicoClaw's own folder usually lies
 * in the home, and the kernel takes no layer that lies inside another: so the home is a folder of the check with copies
 * of its files, and each folder in it is laid over by itself.
 */
export function openCheckHome(at: {
  readonly home: string;
  readonly into: string;
  /** Private homes whose writes show, uppermost first. */
  readonly above: readonly string[];
  readonly pieces: HomeShape["pieces"];
  readonly secrets: readonly string[];
}): CheckHome {
  const base = join(at.into, "base");
  mkdirSync(base, { recursive: true, mode: 0o700 });
  const entries = new Map<string, Top>();
  const add = (name: string, source: string) =>
    lay(entries, at.secrets.includes(join(at.home, name)), name, source);
  for (const name of namesIn(at.home)) add(name, join(at.home, name));
  for (const home of at.above.toReversed())
    for (const [name, source] of writesOf(home, at)) add(name, source);
  const layers: HomeLayer[] = [];
  const shown: string[] = [];
  const mounted = new Set(at.pieces?.shown);
  for (const [name, { stats, sources }] of entries) {
    const source = sources[0] as string;
    const isLarge = stats.isFile() && stats.size > COPIED_BYTES;
    if (source === join(at.home, name) && (isLarge || (stats.isDirectory() && mounted.has(source))))
      shown.push(source);
    else if (stats.isDirectory()) {
      const [bottom, ...between] = sources.toReversed() as [string, ...string[]];
      const folder = join(at.into, "layers", String(layers.length));
      layers.push({ path: join(at.home, name), bottom, lowers: between.toReversed(), folder });
    } else if (stats.isSymbolicLink()) symlinkSync(readlinkSync(source), join(base, name));
    else if (stats.isFile()) copyReadable(source, join(base, name));
  }
  for (const layer of layers) prepareLayer(layer, at.secrets);
  return { base, layers, pieces: { shown, links: [] } };
}

interface Top {
  readonly stats: Stats;
  /** Uppermost first; more than one only where folders show through each other. */
  readonly sources: readonly string[];
}

/** What a layer has at a name of the home, over what is there below it. */
function lay(entries: Map<string, Top>, isSecret: boolean, name: string, source: string): void {
  const stats = lstatSync(source, { throwIfNoEntry: false });
  if (isSecret || stats === undefined) return;
  const isGone = stats.isCharacterDevice() && stats.rdev === 0;
  const below = entries.get(name);
  if (isGone) entries.delete(name);
  else if (stats.isDirectory() && below?.stats.isDirectory() && !isOpaque(source))
    entries.set(name, { stats, sources: [source, ...below.sources] });
  else entries.set(name, { stats, sources: [source] });
}

/** What jobs wrote into a private home: one layer for the whole of it, or one a folder. */
function writesOf(
  home: string,
  { home: real, pieces }: { readonly home: string; readonly pieces: HomeShape["pieces"] },
): [string, string][] {
  if (pieces === null) {
    const upper = join(home, encodeURIComponent(basename(real)), "u");
    return namesIn(upper).map((name) => [name, join(upper, name)]);
  }
  return namesIn(home).map((name) => [decodeURIComponent(name), join(home, name, "u")]);
}

function namesIn(folder: string): string[] {
  try {
    return existsSync(folder) ? readdirSync(folder) : [];
  } catch {
    return [];
  }
}

/** What this user may not read is not there for a check either. */
function copyReadable(from: string, to: string): void {
  try {
    copyFileSync(from, to);
  } catch {
    // Somebody else's file.
  }
}

function isOpaque(folder: string): boolean {
  const mark = getXattr(folder, "user.overlay.opaque");
  return mark.ok && mark.value[0] === "y".charCodeAt(0);
}
