import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { trustedStorages } from "./job-storage.ts";

/** Where each workspace keeps its jobs; a `location` file points to a storage on another file system. */
export function jobStorages(home: string): string[] {
  const workspaces = join(home, "workspaces");
  if (!existsSync(workspaces)) return [];
  return trustedStorages(
    home,
    readdirSync(workspaces).map((id) => join(workspaces, id)),
  );
}
