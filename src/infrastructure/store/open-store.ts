import { join } from "node:path";
import type { Kysely } from "kysely";
import type { StoreTrouble } from "../../domain/store/store-trouble.ts";
import { migrate, migrationStatus, NewerStore } from "./migrate.ts";
import type { Database } from "./schema.ts";
import { openSqlite } from "./sqlite.ts";

export interface StoreLocation {
  readonly home: string;
  /** As `database_url`, its reference resolved. */
  readonly databaseUrl: string | undefined;
}

export type OpenedStore =
  | { readonly ok: true; readonly db: Kysely<Database> }
  | { readonly ok: false; readonly trouble: StoreTrouble };

/**
 * The store of this installation: Postgres where the configuration names one, else the file in PICOCLAW_HOME. Its
 * tables are made unless told otherwise; a store that does not answer is told at once.
 */
export async function openMigratedStore(
  place: StoreLocation,
  now: () => Date,
  options: { readonly migrate: boolean } = { migrate: true },
): Promise<OpenedStore> {
  let db: Kysely<Database> | undefined;
  try {
    db = await openStore(place);
    if (options.migrate) await migrate(db, now);
    else await migrationStatus(db);
    return { ok: true, db };
  } catch (cause) {
    await db?.destroy();
    return { ok: false, trouble: troubleOf(place, cause) };
  }
}

async function openStore(place: StoreLocation): Promise<Kysely<Database>> {
  if (place.databaseUrl === undefined) return openSqlite(storeFileOf(place));
  return (await import("./postgres.ts")).openPostgres(place.databaseUrl);
}

function storeFileOf({ home }: StoreLocation): string {
  return join(home, "picoclaw.db");
}

/** Without a password. */
function storeNameOf(place: StoreLocation): Pick<StoreTrouble, "kind" | "name"> {
  if (place.databaseUrl === undefined) return { kind: "sqlite", name: storeFileOf(place) };
  const url = URL.parse(place.databaseUrl);
  return { kind: "postgres", name: url === null ? "postgres" : `postgres://${url.host}${url.pathname}` };
}

function troubleOf(place: StoreLocation, cause: unknown): StoreTrouble {
  const detail = detailOf(cause);
  const damaged = /not a database|malformed|corrupt/i.test(detail);
  const distrusted = /certificate|altnames|sslrootcert/i.test(detail);
  return { ...storeNameOf(place), detail, damaged, newer: cause instanceof NewerStore, distrusted };
}

function detailOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = "code" in cause ? String(cause.code) : "";
  return cause.message || code || cause.name;
}
