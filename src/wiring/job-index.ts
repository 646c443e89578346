import type { AllJobs } from "../application/ports/jobs.ts";
import type { NotOpened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import { createJobArchive } from "../infrastructure/engine/job-archive.ts";
import { createAllJobs } from "../infrastructure/jobs/job-index.ts";
import { jobStorages } from "../infrastructure/platform/workspace-storage.ts";
import { installQueue } from "../infrastructure/serve/work-queue.ts";
import { type Environment, openServices } from "./services.ts";

/** The index of jobs in the store of this installation; `syncAll` updates it from every workspace's folders. */
export async function openJobIndex(
  env: Environment,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly index: AllJobs } | NotOpened> {
  const services = await openServices(env, options);
  if (!services.ok) return services;
  const { home, now, databaseUrl } = services;
  const opened = await services.openStore({ migrate: false });
  if (!opened.ok) return opened;
  const index = createAllJobs({
    db: opened.db,
    now,
    archives: () => jobStorages(home).map((folder) => createJobArchive(folder, now)),
    afterMigration: async () => void (databaseUrl !== undefined && (await installQueue(databaseUrl))),
  });
  return { ok: true, index };
}
