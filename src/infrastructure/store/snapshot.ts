import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kysely, PostgresAdapter, sql } from "kysely";
import type { Database } from "./schema.ts";
import { openSqlite } from "./sqlite.ts";

/** Hands over the store as it is at one moment; whoever works with it goes on meanwhile. */
export async function withSnapshot<T>(
  db: Kysely<Database>,
  use: (frozen: Kysely<Database>) => Promise<T>,
): Promise<T> {
  if (db.getExecutor().adapter instanceof PostgresAdapter)
    return db.transaction().setIsolationLevel("repeatable read").execute(use);
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-snapshot-"));
  const file = join(folder, "store.db");
  try {
    await sql`vacuum into ${file}`.execute(db);
    const frozen = openSqlite(file);
    try {
      return await use(frozen);
    } finally {
      await frozen.destroy();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
