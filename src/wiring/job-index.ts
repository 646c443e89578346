import type { AllJobs, IndexedJob, JobArchive } from "../application/ports/jobs.ts";
import type { NotOpened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import { resolveLocale } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import { createJobArchive } from "../infrastructure/engine/job-archive.ts";
import { jobStorages } from "../infrastructure/engine/job-storage.ts";
import { createJobIndex } from "../infrastructure/jobs/job-index.ts";
import { installQueue } from "../infrastructure/serve/work-queue.ts";
import { openOwnStore } from "./store.ts";

/** The index of jobs in the store of this installation; `syncAll` brings it up to date with every workspace's folders. */
export async function openJobIndex(
  env: Readonly<Record<string, string | undefined>>,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly index: AllJobs } | NotOpened> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok)
    return { ok: false, exitCode: 2, messages: messagesFor(resolveLocale({ env })), problems: loaded.errors };
  const { config, home } = loaded;
  const now = () => new Date();
  const opened = await openOwnStore(loaded, { locale: resolveLocale({ env, config }), now, migrate: false });
  if (!opened.ok) return opened;
  const index = createJobIndex(opened.db, now);
  const archives = () => jobStorages(home).map((folder) => createJobArchive(folder, now));
  return {
    ok: true,
    index: {
      ...index,
      async migrate() {
        const applied = await index.migrate();
        if (opened.databaseUrl !== undefined) await installQueue(opened.databaseUrl);
        return applied;
      },
      async jobs(filter) {
        const known = archives();
        return (await index.jobs(filter)).map((job) => withInterruptions(job, known));
      },
      async syncAll() {
        for (const archive of archives()) await index.sync(archive);
      },
    },
  };
}

/** The index does not hold what was cut off; the job's own folder does, where it is on this machine. */
function withInterruptions(job: IndexedJob, archives: readonly Pick<JobArchive, "read">[]): IndexedJob {
  for (const archive of archives) {
    const own = archive.read(job.jobId);
    if (own === null) continue;
    const { interruptions, standsRepaired } = own;
    return { ...job, ...(interruptions && { interruptions }), ...(standsRepaired && { standsRepaired }) };
  }
  return job;
}
