import type { Kysely } from "kysely";
import type { LoadedConfig } from "../config/loaded.ts";
import { type OpenedStore, openMigratedStore } from "../infrastructure/store/open-store.ts";
import type { Database } from "../infrastructure/store/schema.ts";

export type StoreOnce =
  | (Extract<OpenedStore, { ok: true }> & { close(): Promise<void> })
  | Extract<OpenedStore, { ok: false }>;

/**
 * The store that this process has open already, which then stays open, else a new connection. Two connections of one
 * process to one SQLite file would wait for each other.
 */
export async function openStoreOnce(
  given: Kysely<Database> | undefined,
  { config, home, secrets }: Pick<LoadedConfig, "config" | "home" | "secrets">,
  now: () => Date,
): Promise<StoreOnce> {
  if (given !== undefined) return { ok: true, db: given, close: async () => {} };
  const opened = await openMigratedStore({ home, databaseUrl: secrets.resolve(config.database_url) }, now);
  return opened.ok ? { ...opened, close: () => opened.db.destroy() } : opened;
}
