import { closeSync, existsSync, lstatSync, mkdirSync, openSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { tryFlock } from "../platform/file-lock.ts";
import { getXattr } from "../platform/xattr.ts";
import { removeTree } from "./remove-tree.ts";

/**
 * Moves what a job left in a home of its own into the one that jobs share, so that what it downloaded is there for the
 * next. While another job holds the shared home it stays out: a cache is lost, and nothing else.
 */
export function adoptHome(own: string, shared: string): void {
  if (!existsSync(own)) return;
  mkdirSync(shared, { recursive: true, mode: 0o700 });
  const fd = openSync(shared, "r");
  try {
    if (!tryFlock(fd, "exclusive").ok) return;
    for (const name of readdirSync(own)) {
      const upper = join(own, name, "u");
      if (!existsSync(upper)) continue;
      mkdirSync(join(shared, name, "u"), { recursive: true, mode: 0o700 });
      mergeInto(upper, join(shared, name, "u"));
    }
  } finally {
    closeSync(fd);
  }
}

/** A folder through which the one below shows is merged; everything else takes the place of what was there. */
function mergeInto(from: string, to: string): void {
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    const there = lstatSync(target, { throwIfNoEntry: false });
    if (there?.isDirectory() && lstatSync(source).isDirectory() && !isOpaque(source)) {
      mergeInto(source, target);
      continue;
    }
    if (there !== undefined) removeTree(target);
    renameSync(source, target);
  }
}

function isOpaque(folder: string): boolean {
  const mark = getXattr(folder, "user.overlay.opaque");
  return mark.ok && mark.value[0] === "y".charCodeAt(0);
}
