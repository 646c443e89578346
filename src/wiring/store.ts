import { join } from "node:path";
import type { Kysely } from "kysely";
import { migrate } from "../infrastructure/store/migrate.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { openSqlite } from "../infrastructure/store/sqlite.ts";

export interface StorePlace {
  readonly home: string;
  /** As `database_url`, its reference resolved. */
  readonly databaseUrl: string | undefined;
}

/** The store of this installation: Postgres where the configuration names one, else the file in PICOCLAW_HOME. */
export async function openStore({ home, databaseUrl }: StorePlace): Promise<Kysely<Database>> {
  if (databaseUrl === undefined) return openSqlite(join(home, "picoclaw.db"));
  return (await import("../infrastructure/store/postgres.ts")).openPostgres(databaseUrl);
}

/** The same, its tables made. */
export async function openMigratedStore(place: StorePlace, now: () => Date): Promise<Kysely<Database>> {
  const db = await openStore(place);
  try {
    await migrate(db, now);
    return db;
  } catch (cause) {
    await db.destroy();
    throw cause;
  }
}
