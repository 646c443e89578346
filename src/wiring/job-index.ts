import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JobIndex } from "../application/ports/job-index.ts";
import { resolveHome } from "../config/home.ts";
import { createJobIndex } from "../infrastructure/store/job-index.ts";
import { openSqlite } from "../infrastructure/store/sqlite.ts";
import { createJobArchive } from "../infrastructure/transaction/job-archive.ts";

/** The store of this installation; `syncAll` brings it up to date with every workspace's job folders. */
export function openJobIndex(
  env: Readonly<Record<string, string | undefined>>,
): JobIndex & { syncAll(): Promise<void> } {
  const home = resolveHome(env);
  const now = () => new Date();
  const index = createJobIndex(openSqlite(join(home, "picoclaw.db")), now);
  return {
    ...index,
    async syncAll() {
      for (const folder of jobStorages(join(home, "workspaces")))
        await index.sync(createJobArchive(folder, now));
    },
  };
}

/** Where each workspace keeps its jobs; a `location` file points to a storage on another file system. */
function jobStorages(workspaces: string): string[] {
  if (!existsSync(workspaces)) return [];
  return readdirSync(workspaces).map((id) => {
    const pointer = join(workspaces, id, "location");
    return existsSync(pointer) ? readFileSync(pointer, "utf8").trim() : join(workspaces, id);
  });
}
