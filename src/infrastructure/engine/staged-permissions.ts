import { accessSync, constants } from "node:fs";
import type { Entry } from "../../application/ports/view.ts";
import { inFolder, inParent } from "./anchor.ts";
import { parentOf } from "./folder-view.ts";

export interface StagedPermissions {
  /** What the user could not do, a job cannot: overwriting needs a writable file, the rest a writable folder. */
  refuseShut(path: string, overwrites: boolean): void;
  /** A folder that changes its parent is written to. */
  refuseShutFolder(from: string, to: string): void;
}

/** Asks the workspace whether what is staged could be done there; what the job itself staged may be changed again. */
export function createStagedPermissions(
  root: string,
  stagedAs: (path: string) => string | undefined,
  look: (path: string) => Entry,
): StagedPermissions {
  return {
    refuseShut(path, overwrites) {
      if (stagedAs(path) !== undefined) return;
      if (overwrites) {
        inParent(root, path, (folder, name) => accessSync(`${folder}/${name}`, constants.W_OK));
        return;
      }
      for (let at = path; at !== ""; ) {
        at = parentOf(at);
        if (stagedAs(at) === "directory") return;
        if (at !== "" && look(at).kind !== "directory") continue;
        inFolder(root, at, (folder) => accessSync(folder, constants.W_OK | constants.X_OK));
        return;
      }
    },
    refuseShutFolder(from, to) {
      if (stagedAs(from) !== undefined || look(from).kind !== "directory" || parentOf(from) === parentOf(to))
        return;
      inFolder(root, from, (folder) => accessSync(folder, constants.W_OK));
    },
  };
}
