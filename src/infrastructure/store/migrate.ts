import { type Kysely, PostgresAdapter, sql } from "kysely";
import type { NewerSchema } from "../../domain/store/store-trouble.ts";
import * as jobs from "./migrations/001-jobs.ts";
import * as chats from "./migrations/002-chats.ts";
import * as serve from "./migrations/004-serve.ts";
import * as solve from "./migrations/005-solve.ts";
import * as pushes from "./migrations/007-pushes.ts";
import * as workspaces from "./migrations/008-workspaces.ts";
import * as taskSteps from "./migrations/009-task-steps.ts";
import * as queue from "./migrations/010-queue.ts";
import * as schedules from "./migrations/011-schedules.ts";
import * as keptDrafts from "./migrations/012-kept-drafts.ts";
import * as fleet from "./migrations/013-fleet.ts";
import * as control from "./migrations/014-control.ts";
import * as taskWork from "./migrations/015-task-work-breaking.ts";
import * as chatTurns from "./migrations/016-chat-turns-breaking.ts";
import type { Database } from "./schema.ts";

const MIGRATIONS: readonly { readonly name: string; readonly up: (db: Kysely<unknown>) => Promise<void> }[] =
  [
    { name: "001-jobs", up: jobs.up },
    { name: "002-chats", up: chats.up },
    { name: "004-serve", up: serve.up },
    { name: "005-solve", up: solve.up },
    { name: "007-pushes", up: pushes.up },
    { name: "008-workspaces", up: workspaces.up },
    { name: "009-task-steps", up: taskSteps.up },
    { name: "010-queue", up: queue.up },
    { name: "011-schedules", up: schedules.up },
    { name: "012-kept-drafts", up: keptDrafts.up },
    { name: "013-fleet", up: fleet.up },
    { name: "014-control", up: control.up },
    { name: "015-task-work-breaking", up: taskWork.up },
    { name: "016-chat-turns-breaking", up: chatTurns.up },
  ];

/**
 * A migration that an older process cannot work on with, because it takes away or changes what that one uses, has a name
 * that ends so; one that only adds does not. A process that runs finishes and ends after the first kind.
 */
const BREAKING = /-breaking$/;

/** What later versions have done to the tables. */
export async function newerSchema(db: Kysely<Database>): Promise<NewerSchema> {
  const { unknown } = await migrationStatus(db);
  return {
    added: unknown.filter((name) => !BREAKING.test(name)),
    breaking: unknown.filter((name) => BREAKING.test(name)),
  };
}

/** Any number: whoever migrates a Postgres holds this lock. */
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

/** `unknown`: applied by a later version. */
export async function migrationStatus(
  db: Kysely<Database>,
): Promise<{ applied: string[]; pending: string[]; unknown: string[] }> {
  const applied = await appliedMigrations(db);
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
