import { type Kysely, PostgresAdapter, sql } from "kysely";
import type { NewerSchema } from "../../domain/store/store-trouble.ts";
import type { Database } from "./schema.ts";
import { addFilePieces, addForgeEvents, addUsageSums, createTables } from "./tables.ts";

/**
 * The migrations that make the tables, in order. A store that has a name from before the first of them is of
 * an older version.
 */
const MIGRATIONS: readonly { readonly name: string; readonly up: (db: Kysely<unknown>) => Promise<void> }[] =
  [
    { name: "101-tables", up: createTables },
    // A process of before would write entries that no sum has.
    { name: "102-usage-sums-breaking", up: addUsageSums },
    { name: "103-forge-events", up: addForgeEvents },
    // A process of before would show a model an empty image.
    { name: "104-file-pieces-breaking", up: addFilePieces },
  ];

/**
 * A migration that an older process cannot work on with, because it takes away or changes what that one uses, has a name
 * that ends so; one that only adds does not. A process that runs finishes and ends after the first kind.
 */
const BREAKING = /-breaking$/;

/** Names begin with three digits that only grow. */
function isOlder(name: string): boolean {
  return name < (MIGRATIONS[0]?.name ?? "");
}

/** The changes that later versions made to the tables. */
export async function newerSchema(db: Kysely<Database>): Promise<NewerSchema> {
  const { unknown } = await migrationStatus(db);
  return {
    added: unknown.filter((name) => !BREAKING.test(name)),
    breaking: unknown.filter((name) => BREAKING.test(name)),
  };
}

/** Any number: a process that migrates a Postgres holds this lock. */
const MIGRATION_LOCK = 7_433_001;

/** Applies what is missing, in order, in one transaction; a second process that waited finds nothing to do. */
export async function migrate(db: Kysely<Database>, now: () => Date): Promise<string[]> {
  const { pending, unknown } = await migrationStatus(db);
  if (unknown.length > 0) throw new NewerStore(unknown);
  if (pending.length === 0) return [];
  const done: string[] = [];
  await db.transaction().execute(async (transaction) => {
    if (isPostgres(db)) await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction);
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

/** Another machine, or a later version on this one, has changed the tables: what this version writes may not fit. */
export class NewerStore extends Error {
  constructor(unknown: readonly string[]) {
    super(unknown.join(", "));
  }
}

/** The tables are those of a version before the first release; nothing carries their rows over. */
export class OlderStore extends Error {
  constructor(old: readonly string[]) {
    super(old.at(-1));
  }
}

/** `unknown`: applied by a later version. Throws `OlderStore`. */
export async function migrationStatus(
  db: Kysely<Database>,
): Promise<{ applied: string[]; pending: string[]; unknown: string[] }> {
  const applied = await appliedMigrations(db);
  const old = applied.filter(isOlder);
  if (old.length > 0) throw new OlderStore(old);
  const names = MIGRATIONS.map(({ name }) => name);
  return {
    applied,
    pending: names.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !names.includes(name)),
  };
}

/** Asks first and looks for the table only when that fails: opening a store is on the way of every message. */
async function appliedMigrations(db: Kysely<Database>): Promise<string[]> {
  try {
    return await appliedNames(db);
  } catch {
    const tables = await db.introspection.getTables();
    // Another process may have made the table in between, so it is asked again.
    return tables.some(({ name }) => name === "migrations") ? appliedNames(db) : [];
  }
}

async function appliedNames(db: Kysely<Database>): Promise<string[]> {
  const rows = await db.selectFrom("migrations").select("name").orderBy("name").execute();
  return rows.map(({ name }) => name);
}

function isPostgres(db: Kysely<Database>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
