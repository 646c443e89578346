import { Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import { withPreparedStatements } from "./postgres-statements.ts";
import type { Database } from "./schema.ts";

/** Between two statements of one transaction; shorter than it takes to be held for dead. */
const LONGEST_PAUSE_MS = 10_000;

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
  pool.on("connect", (client) => {
    // One that breaks between two statements of a transaction says so where nobody listens: the next statement fails.
    client.on("error", () => {});
    // A process that is stopped, or a machine that is cut off, within a transaction would keep its rows locked for all.
    client.query(`set idle_in_transaction_session_timeout = ${LONGEST_PAUSE_MS}`).catch(() => {});
  });
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool: withPreparedStatements(pool) }) });
}
