import { type Kysely, sql } from "kysely";
import * as jobs from "./migrations/001-jobs.ts";
import * as serve from "./migrations/004-serve.ts";
import type { Database } from "./schema.ts";

const MIGRATIONS: readonly { readonly name: string; readonly up: (db: Kysely<unknown>) => Promise<void> }[] =
  [
    { name: "001-jobs", up: jobs.up },
    { name: "004-serve", up: serve.up },
  ];

/** Applies what is missing, in order, in one transaction; a second process that waited finds nothing to do. */
export async function migrate(db: Kysely<Database>, now: () => Date): Promise<string[]> {
  if ((await status(db)).pending.length === 0) return [];
  const done: string[] = [];
  await db.transaction().execute(async (transaction) => {
    await sql`create table if not exists migrations (name text primary key, applied_at text not null)`.execute(
      transaction,
    );
    const applied = new Set(
      (await transaction.selectFrom("migrations").select("name").execute()).map(({ name }) => name),
    );
    for (const { name, up } of MIGRATIONS) {
      if (applied.has(name)) continue;
      await up(transaction as unknown as Kysely<unknown>);
      await transaction.insertInto("migrations").values({ name, applied_at: now().toISOString() }).execute();
      done.push(name);
    }
  });
  return done;
}

export async function status(db: Kysely<Database>): Promise<{ applied: string[]; pending: string[] }> {
  const tables = await db.introspection.getTables();
  const known = tables.some(({ name }) => name === "migrations");
  const applied = known
    ? (await db.selectFrom("migrations").select("name").orderBy("name").execute()).map(({ name }) => name)
    : [];
  return { applied, pending: MIGRATIONS.map(({ name }) => name).filter((name) => !applied.includes(name)) };
}
