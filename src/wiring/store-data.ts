import { existsSync, readdirSync } from "node:fs";
import type { NotOpened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { StoreData } from "../application/ports/store.ts";
import { homeConfigFile, resolveLocale } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { type MemoryMessages, memoryMessagesFor } from "../domain/texts/chat.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import { jobStorages } from "../infrastructure/engine/job-storage.ts";
import { parseWorkspaceName, workspaceName } from "../infrastructure/fleet/workspace-name.ts";
import { forgetPerson } from "../infrastructure/serve/retention-store.ts";
import {
  asWaiting,
  fillStore,
  type KeptTable,
  readBackup,
  readRows,
  withSnapshot,
  writeBackup,
} from "../infrastructure/store/backup.ts";
import { openMigratedStore } from "../infrastructure/store/open-store.ts";
import { VERSION } from "../version.ts";
import { openOwnStore } from "./store.ts";

/** The store of this installation as a whole: to keep, to bring back, to move, to forget. */
export async function openStoreData(
  env: Readonly<Record<string, string | undefined>>,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly data: StoreData; readonly words: MemoryMessages } | NotOpened> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok)
    return { ok: false, exitCode: 2, messages: messagesFor(resolveLocale({ env })), problems: loaded.errors };
  const { config, home } = loaded;
  const locale = resolveLocale({ env, config });
  const words = memoryMessagesFor(locale);
  const now = () => new Date();
  const opened = await openOwnStore(loaded, { locale, now });
  if (!opened.ok) return opened;
  const { db } = opened;
  const data: StoreData = {
    async backup(folder) {
      if (existsSync(folder) && readdirSync(folder).length > 0) return { status: "exists" };
      const undoData = jobStorages(home);
      const configFile = homeConfigFile(home);
      const rows = await writeBackup(db, { folder, version: VERSION, now: now(), undoData, configFile });
      return { status: "made", rows, undoData };
    },
    restore: (folder) => readBackup(db, folder),
    async copyTo(databaseUrl) {
      const filled = await openMigratedStore({ home, databaseUrl }, now);
      if (!filled.ok) return { status: "not-opened", trouble: filled.trouble };
      const target = filled.db;
      const nameOf = (name: string) =>
        workspaceName({ home, databaseUrl, root: parseWorkspaceName(name).root });
      try {
        return await withSnapshot(db, (frozen) =>
          fillStore(target, {
            rows: async function* (table: KeptTable) {
              for await (const row of readRows(frozen, table)) yield asWaiting(row, nameOf);
            },
          }),
        );
      } finally {
        await target.destroy();
      }
    },
    forget: (person) => forgetPerson(db, person),
    close: () => db.destroy(),
  };
  return { ok: true, data, words };
}
