import { statSync } from "node:fs";
import { createProtection, type Protection, type ProtectionDeps } from "../../domain/policy/protection.ts";
import { foldsCase } from "../platform/entry-identity.ts";

/** Why a path cannot be a workspace, by the name of the text that says so; null: it can. */
export function findFolderTrouble(path: string): "workspaceMissing" | "workspaceNotADirectory" | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "workspaceMissing" : stats.isDirectory() ? null : "workspaceNotADirectory";
}

/** The paths that jobs may not touch. Null: a project in a container, where case counts and nothing is PicoClaw's own. */
export function protectFolder(
  root: string | null,
  deps: Pick<ProtectionDeps, "patterns" | "action" | "ofHome"> & Partial<Pick<ProtectionDeps, "ownPaths">>,
): Protection {
  const caseInsensitive = root !== null && foldsCase(root);
  return createProtection({ ownPaths: [], ...deps, caseInsensitive });
}
