import { join, relative } from "node:path";
import type { Conflict } from "../../application/ports/jobs-transaction.ts";
import { inParent } from "./anchor.ts";
import { identifyAt, isAbsence } from "./entry-identity.ts";
import type { Op, Plan, WayFolder } from "./job-folder.ts";
import { keepsFolder } from "./turns.ts";

/** Which folder a view was based on. */
export type FolderBase = Pick<WayFolder, "ino">;

/** A base that no folder matches. */
export const NO_FOLDER: FolderBase = { ino: "0" };

export type BaseOf = (root: number, path: string) => FolderBase | null;

/** The folders on the way to what a job changed, but for those that it made or took away itself. */
export function foldersOnTheWay(ops: readonly Op[], baseOf: BaseOf): WayFolder[] {
  const own = new Map(ops.map((op) => [`${op.root}:${op.path}`, op]));
  const folders = new Map<string, WayFolder | null>();
  const add = (root: number, path: string) => {
    const key = `${root}:${path}`;
    if (folders.has(key)) return;
    const op = own.get(key);
    const base = op === undefined || keepsFolder(op) ? baseOf(root, path) : null;
    folders.set(key, base === null ? null : { root, path, ino: base.ino });
  };
  for (const op of ops) {
    const { root, path } = op;
    if (keepsFolder(op)) add(root, path);
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1))
      add(root, path.slice(0, slash));
  }
  return [...folders.values()].filter((folder) => folder !== null);
}

/** Where another folder, something else or nothing stands now; of several, one below the other, the uppermost alone. */
export function exchangedFolders({ roots, folders = [] }: Plan, workspace: string): ExchangedFolders {
  const found = new Map<string, Conflict>();
  const shallowFirst = [...folders].sort((x, y) => x.path.length - y.path.length);
  const isBelow = (root: number, path: string) => {
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1))
      if (found.has(`${root}:${path.slice(0, slash)}`)) return true;
    return false;
  };
  for (const folder of shallowFirst) {
    if (isBelow(folder.root, folder.path)) continue;
    const root = roots[folder.root] as string;
    const reason = exchangeReason(root, folder);
    if (reason === null) continue;
    const path = relative(workspace, join(root, folder.path));
    found.set(`${folder.root}:${folder.path}`, { path, reason });
  }
  return {
    conflicts: [...found.values()],
    covers: ({ root, path }) => found.has(`${root}:${path}`) || isBelow(root, path),
  };
}

export interface ExchangedFolders {
  readonly conflicts: readonly Conflict[];
  /** Whether a path is such a folder or lies below one. */
  covers(op: Pick<Op, "root" | "path">): boolean;
}

function exchangeReason(root: string, { path, ino }: WayFolder): Conflict["reason"] | null {
  try {
    return inParent(root, path, (parent, name) => {
      const now = identifyAt(`${parent}/${name}`);
      if (now === null) return "missing";
      return now.kind === "directory" && now.ino === ino ? null : "changed";
    });
  } catch (error) {
    if (isAbsence(error)) return "missing";
    return (error as { code?: string }).code === "EACCES" ? "no-access" : "changed";
  }
}
