import type { Kysely } from "kysely";
import type { NotOpened } from "../application/ports/jobs-workspace.ts";
import { memoryMessagesFor } from "../domain/texts/chat.ts";
import type { Locale } from "../domain/texts/locale.ts";
import { findGoneStore } from "../infrastructure/serve/live-address.ts";
import { openMigratedStore, shareOpened } from "../infrastructure/store/open-store.ts";
import type { Database } from "../infrastructure/store/schema.ts";

export interface StoreOptions {
  readonly now?: () => Date;
  /** The store that this process has open already; it stays open. */
  readonly given?: Kysely<Database> | undefined;
  /** Default: missing tables are made. */
  readonly migrate?: boolean;
}

export type OpenedStore =
  | { readonly ok: true; readonly db: Kysely<Database>; close(): Promise<void> }
  | (NotOpened & { readonly message: string });

/** The part of the services that opening the store needs. */
interface StorePlace {
  readonly home: string;
  readonly databaseUrl: string | undefined;
  readonly locale: Locale;
  now(): Date;
  refuse(message: string): NotOpened & { readonly message: string };
}

export type OpenStore = (place: StorePlace, options?: StoreOptions) => Promise<OpenedStore>;

/** The only way to open the store. Refused while a server of this home runs that lost its file: it would never read the new one. */
export const openOwnStore: OpenStore = async (
  { home, databaseUrl, locale, now, refuse },
  { given, migrate = true, ...options } = {},
) => {
  if (given !== undefined) return { ok: true, db: given, close: async () => {} };
  const gone = databaseUrl === undefined ? findGoneStore(home) : null;
  if (gone !== null) {
    const { serveMessagesFor } = await import("../domain/texts/serve.ts");
    return refuse(serveMessagesFor(locale).storeGone(gone));
  }
  const opened = await openMigratedStore({ home, databaseUrl }, options.now ?? now, { migrate });
  if (opened.ok) return { ok: true, db: opened.db, close: () => opened.db.destroy() };
  return refuse(memoryMessagesFor(locale).storeUnavailable(opened.trouble));
};

/** For a process that opens several folders. */
export function shareStores(): OpenStore {
  return shareOpened(openOwnStore, ({ home, databaseUrl }) => JSON.stringify([home, databaseUrl ?? null]));
}
