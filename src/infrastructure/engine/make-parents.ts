import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { inParent } from "./anchor.ts";
import { removeTree } from "./remove-tree.ts";

/**
 * Makes sure that every parent of `path` below `root` is a folder. No link is followed: one that stands in a parent's
 * place goes, as a file would. `modeOf` tells the mode of a parent that has to be made.
 */
export function makeParents(
  root: string,
  path: string,
  modeOf: (parent: string) => number | undefined,
): void {
  const parts = path.split("/");
  for (let i = 1; i < parts.length; i++) {
    const parent = parts.slice(0, i).join("/");
    inParent(root, parent, (folder, name) => {
      const at = `${folder}/${name}`;
      const there = lstatSync(at, { throwIfNoEntry: false });
      if (there?.isDirectory()) return;
      if (there !== undefined) removeTree(at);
      mkdirSync(at);
      const mode = modeOf(parent);
      if (mode !== undefined) chmodSync(at, mode | 0o700);
    });
  }
}
