import { type Kysely, PostgresAdapter, type RawBuilder, sql } from "kysely";
import type { Database } from "./schema.ts";

/**
 * Milliseconds since 1970, as an expression. Processes on several machines agree on the database's time only; the
 * embedded store has the time of its one machine.
 */
export function databaseClock(db: Kysely<Database>, now: () => Date): () => RawBuilder<number> {
  return db.getExecutor().adapter instanceof PostgresAdapter
    ? () => sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
    : () => sql<number>`${now().getTime()}`;
}
