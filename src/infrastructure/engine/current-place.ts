import { lstatSync } from "node:fs";
import { relative } from "node:path";
import type { EntryState } from "../../application/ports/jobs-transaction.ts";
import { inParent } from "./anchor.ts";
import { currentEntryBelow } from "./standing.ts";
import { readNoFollow } from "./content.ts";
import { isInside } from "./git-roots.ts";
import { type LaidRoot, lowerFolderOf } from "./overlay-layers.ts";

/** Where the thing at a path of a view really lies. */
export interface LayeredPath {
  /** The upper, or the workspace itself. */
  readonly root: string;
  readonly below: string;
  /** The folder of the workspace that shows through it, where it is a folder of the upper. */
  readonly shows?: string;
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
    const stats = lstatSync(`${root.upper}/${path}`, { throwIfNoEntry: false, bigint: true });
    if (stats === undefined) {
      if (lower === null) return null;
      return { root: root.path, below: [...(lower === "" ? [] : [lower]), ...parts.slice(i - 1)].join("/") };
    }
    if (stats.isCharacterDevice() && stats.rdev === 0n) return null;
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

/** The bytes at an absolute path as the view has them; null where no file stands. */
export function currentBytes(roots: readonly LaidRoot[], absolute: string): Uint8Array | null {
  const place = findLayeredPath(roots, absolute);
  if (place === null || currentEntryBelow(place.root, place.below)?.kind !== "file") return null;
  return inParent(place.root, place.below, (folder, name) => readNoFollow(`${folder}/${name}`));
}

export function bytesOrNull(absolute: string): Uint8Array | null {
  return lstatSync(absolute, { throwIfNoEntry: false })?.isFile() ? readNoFollow(absolute) : null;
}
