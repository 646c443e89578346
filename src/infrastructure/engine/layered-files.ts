import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ViewFault } from "../../application/ports/view.ts";
import type { WorkspaceFiles } from "../../application/ports/workspace-files.ts";
import { inFolder } from "./anchor.ts";
import { createWorkspaceFiles } from "./folder-files.ts";
import { findLayeredPath, type LayeredPath } from "./current-place.ts";
import type { LaidRoot } from "./overlay-layers.ts";

/** The files of a job whose sandbox does not stand: its uppers over the workspace. No symlink is followed. */
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
