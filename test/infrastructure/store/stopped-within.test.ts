/** A process that is stopped within a transaction, or a machine that is cut off there, locks no other out for long. */
import { expect, test } from "bun:test";
import { sql } from "kysely";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import { requirePart } from "../../require.ts";
import { startPostgres } from "./postgres-server.ts";

test.if(requirePart("postgres"))(
  "every connection's transactions may rest for ten seconds",
  async () => {
    const postgres = startPostgres();
    const db = openPostgres(postgres.newDatabase());
    try {
      const shown = () =>
        sql<{
          idle_in_transaction_session_timeout: string;
        }>`show idle_in_transaction_session_timeout`.execute(db);
      const all = await Promise.all([shown(), shown(), shown()]);
      expect(all.map(({ rows }) => rows[0]?.idle_in_transaction_session_timeout)).toEqual([
        "10s",
        "10s",
        "10s",
      ]);
    } finally {
      await db.destroy();
      postgres.stop();
    }
  },
  300_000,
);
