import type { Kysely } from "kysely";
import type { NotOpened } from "../application/ports/jobs-workspace.ts";
import type { LoadedConfig } from "../config/config.ts";
import { memoryMessagesFor } from "../domain/texts/chat.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import type { Locale } from "../domain/texts/locale.ts";
import { openMigratedStore } from "../infrastructure/store/open-store.ts";
import type { Database } from "../infrastructure/store/schema.ts";

export interface OpenStoreOptions {
  readonly locale: Locale;
  readonly now: () => Date;
  /** The store that this process has open already; it stays open. */
  readonly given?: Kysely<Database> | undefined;
  /** Default: missing tables are made. */
  readonly migrate?: boolean;
}

export interface OwnStore {
  readonly ok: true;
  readonly db: Kysely<Database>;
  /** As `database_url`, its reference resolved; the embedded store where it is not set. */
  readonly databaseUrl: string | undefined;
  close(): Promise<void>;
}

/** Opens the store of this installation, or says why not and what helps. The one place of the wiring that does. */
export type OpenStore = (
  loaded: Pick<LoadedConfig, "config" | "home" | "secrets">,
  options: OpenStoreOptions,
) => Promise<OwnStore | (NotOpened & { readonly message: string })>;

export const openOwnStore: OpenStore = async ({ config, home, secrets }, options) => {
  const { locale, now, given, migrate = true } = options;
  const databaseUrl = secrets.resolve(config.database_url);
  if (given !== undefined) return { ok: true, db: given, databaseUrl, close: async () => {} };
  const opened = await openMigratedStore({ home, databaseUrl }, now, { migrate });
  if (opened.ok) return { ok: true, db: opened.db, databaseUrl, close: () => opened.db.destroy() };
  const message = memoryMessagesFor(locale).storeUnavailable(opened.trouble);
  return { ok: false, exitCode: 3, messages: messagesFor(locale), problems: [], message };
};

/**
 * For a process that opens several folders: they share one connection a store, which the last of them closes. Two
 * connections of one process to one SQLite file would wait for each other.
 */
export function shareStores(open: OpenStore = openOwnStore): OpenStore {
  const shared = new Map<string, { readonly store: ReturnType<OpenStore>; users: number }>();
  return async (loaded, options) => {
    const place = JSON.stringify([loaded.home, loaded.secrets.resolve(loaded.config.database_url) ?? null]);
    const entry = shared.get(place) ?? { store: open(loaded, options), users: 0 };
    shared.set(place, entry);
    entry.users += 1;
    const leave = () => {
      entry.users -= 1;
      if (entry.users > 0) return false;
      if (shared.get(place) === entry) shared.delete(place);
      return true;
    };
    const opened = await entry.store.catch((error: unknown) => {
      leave();
      throw error;
    });
    if (!opened.ok) {
      leave();
      return opened;
    }
    return { ...opened, close: async () => void (leave() && (await opened.close())) };
  };
}
