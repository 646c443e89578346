import { Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import { preparing } from "./postgres-statements.ts";
import type { Database } from "./schema.ts";

/** Opens the shared store. Connections are made when they are needed and given up when idle. */
export function openPostgres(url: string): Kysely<Database> {
  const pool = new Pool({
    connectionString: url,
    max: 8,
    pipeline: true,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    application_name: "picoclaw",
  });
  // A connection that breaks while idle is made anew at the next query.
  pool.on("error", () => {});
  // One that breaks between two statements of a transaction says so where nobody listens: the next statement fails.
  pool.on("connect", (client) => client.on("error", () => {}));
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool: preparing(pool) }) });
}
