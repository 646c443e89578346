import type { AllJobs } from "../application/ports/job-index.ts";
import type { NotOpened, OpenOptions } from "../application/ports/opening.ts";
import { loadConfig } from "../config/load.ts";
import { resolveLocale } from "../config/locale.ts";
import { messagesFor } from "../domain/texts/messages.ts";
import { memoryMessagesFor } from "../domain/texts/texts.ts";
import { installQueue } from "../infrastructure/inbox/queue/open-work-queue.ts";
import { createJobIndex } from "../infrastructure/store/job-index.ts";
import { openMigratedStore } from "../infrastructure/store/open-store.ts";
import { createJobArchive } from "../infrastructure/work/transaction/job-archive.ts";
import { jobStorages } from "../infrastructure/work/transaction/job-storages.ts";

/** The index of jobs in the store of this installation; `syncAll` brings it up to date with every workspace's folders. */
export async function openJobIndex(
  env: Readonly<Record<string, string | undefined>>,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly index: AllJobs } | NotOpened> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok)
    return { ok: false, exitCode: 2, messages: messagesFor(resolveLocale({ env })), problems: loaded.errors };
  const { config, home, secrets } = loaded;
  const locale = resolveLocale({ env, config });
  const now = () => new Date();
  const place = { home, databaseUrl: secrets.resolve(config.database_url) };
  const opened = await openMigratedStore(place, now, { migrate: false });
  if (!opened.ok) {
    const message = memoryMessagesFor(locale).storeUnavailable(opened.trouble);
    return { ok: false, exitCode: 3, messages: messagesFor(locale), problems: [], message };
  }
  const index = createJobIndex(opened.db, now);
  return {
    ok: true,
    index: {
      ...index,
      async migrate() {
        const applied = await index.migrate();
        if (place.databaseUrl !== undefined) await installQueue(place.databaseUrl);
        return applied;
      },
      async syncAll() {
        for (const folder of jobStorages(home)) await index.sync(createJobArchive(folder, now));
      },
    },
  };
}
