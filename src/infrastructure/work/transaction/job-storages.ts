import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Where each workspace keeps its jobs; a `location` file points to a storage on another file system. */
export function jobStorages(workspaces: string): string[] {
  if (!existsSync(workspaces)) return [];
  return readdirSync(workspaces).map((id) => {
    const pointer = join(workspaces, id, "location");
    return existsSync(pointer) ? readFileSync(pointer, "utf8").trim() : join(workspaces, id);
  });
}
