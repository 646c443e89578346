import type { Generated, Insertable, Kysely, RawBuilder, Selectable, Transaction } from "kysely";
import { PostgresAdapter, sql } from "kysely";
import type { NewerSchema } from "../../domain/store/store-trouble.ts";
import { createTables, type SQLITE_TABLES, type TABLES } from "./tables.ts";

/** The first column begins behind the blank. */
type Trim<Text extends string> = Text extends `${" " | "\n"}${infer Rest}` ? Trim<Rest> : Text;

/** `group_id text not null` as the type of a value; a column without `not null` may be null. */
type Value<Definition extends string> = Definition extends `${string}autoincrement`
  ? Generated<number>
  : Definition extends `text${infer Rest}`
    ? string | OrNull<Rest>
    : number | OrNull<Definition>;

type OrNull<Rest extends string> = Rest extends `${string}${"not null" | "primary key"}${string}`
  ? never
  : null;

/** The columns of a table by its SQL: those before the first line about keys. */
type Columns<Text extends string, Found = unknown> =
  Trim<Text> extends `${"primary key" | "unique"} ${string}`
    ? Found
    : Trim<Text> extends `${infer Column},${infer Rest}`
      ? Columns<Rest, Found & ColumnOf<Column>>
      : Found & ColumnOf<Trim<Text>>;

type ColumnOf<Text extends string> = Text extends `${infer Name} ${infer Definition}`
  ? { [Key in Name]: Value<Definition> }
  : never;

type Row<Body extends string> = { [Key in keyof Columns<Body>]: Columns<Body>[Key] };

type TablesOf<Statement extends string> = {
  [One in Statement as One extends `create table ${infer Name} (${string}`
    ? Name
    : never]: One extends `create table ${string} (${infer Body})` ? Row<Body> : never;
};

type Tables = TablesOf<(typeof TABLES | typeof SQLITE_TABLES)[number]>;

export interface Database extends Tables {
  migrations: { name: string; applied_at: string };
}

export type SessionRow = Database["sessions"];
export type TurnRow = Database["turns"];
export type NoteRow = Database["daily_notes"];
export type DecisionRow = Database["decisions"];
export type LearnedRuleRow = Database["learned_rules"];
export type OrderRow = Database["control_orders"];
export type FleetJobRow = Database["fleet_jobs"];
export type ChatScheduleRow = Database["chat_schedules"];
export type WorkRow = Selectable<Database["work"]>;
export type MessageRow = Database["messages"];
export type ReplyRow = Database["replies"];
export type SolveRow = Database["solve_tasks"];
export type JobRow = Database["jobs"];

/** Text that every database takes: Postgres stores no NUL, and half a surrogate pair is not a character. */
export function storable(text: string): string {
  return text.replaceAll("\0", "\ufffd").toWellFormed();
}

export type StoreTransaction = Transaction<Database>;

type Table = keyof Database;
type StoredRow<Of extends Table> = Selectable<Database[Of]>;
type OrExpression<Columns> = { readonly [Column in keyof Columns]: Columns[Column] | RawBuilder<unknown> };
type Values<Of extends Table> = Partial<OrExpression<StoredRow<Of>>>;

/** As text, like all statements on the way of every message: building Kysely's tree costs more than running it. */
export function insertionOf<Of extends Table>(
  table: Of,
  rows: readonly OrExpression<Insertable<Database[Of]>>[],
  end = sql``,
): RawBuilder<StoredRow<Of>> {
  const columns = sql.raw(`${table} (${Object.keys(rows[0] ?? {}).join(", ")})`);
  const values = rows.map((row) => sql`(${sql.join(Object.values(row))})`);
  return sql`insert into ${columns} values ${sql.join(values)} ${end}`;
}

export const insertRows = <Of extends Table>(
  db: Kysely<Database>,
  ...insertion: Parameters<typeof insertionOf<Of>>
) => countRows(db, insertionOf(...insertion));

/** A row of the same key gets these columns of the new one; with none of them it stays as it is. How many rows were written. */
export function upsertRow<Of extends Table>(
  db: Kysely<Database>,
  table: Of,
  row: OrExpression<Insertable<Database[Of]>>,
  key: readonly (keyof StoredRow<Of> & string)[],
  columns = Object.keys(row).filter((column) => !(key as readonly string[]).includes(column)),
): Promise<number> {
  const set = columns.map((column) => `${column} = excluded.${column}`).join(", ");
  const end = sql.raw(`on conflict (${key.join(", ")}) do ${set === "" ? "nothing" : `update set ${set}`}`);
  return insertRows(db, table, [row], end);
}

/** The rows that have these values, with every column. `rest` follows the condition, if there is one: `and …`, `order by …`. */
export async function selectRows<Of extends Table>(
  db: Kysely<Database>,
  table: Of,
  where: Values<Of>,
  rest = sql``,
): Promise<StoredRow<Of>[]> {
  return (await sql<StoredRow<Of>>`select * from ${sql.raw(table)} ${whereIs(where)} ${rest}`.execute(db))
    .rows;
}

/** The rows of a question in words of its own, which name the columns of `Row`. */
export async function queryRows<Row>(db: Kysely<Database>, question: RawBuilder<unknown>): Promise<Row[]> {
  return (await question.execute(db)).rows as Row[];
}

/** A condition: rows of any of these chats, people or jobs. None of them: no row. */
export function isAnyOf(rows: readonly object[]): RawBuilder<unknown> {
  const each = rows.map((values) => sql`(${sql.join(equalities(values), sql` and `)})`);
  return sql`(${sql.join([sql`1 = 0`, ...each], sql` or `)})`;
}

/** How many rows there were. */
export function deleteRows<Of extends Table>(
  db: Kysely<Database>,
  table: Of,
  where: Values<Of>,
  rest = sql``,
): Promise<number> {
  return countRows(db, sql`delete from ${sql.raw(table)} ${whereIs(where)} ${rest}`);
}

export function updateRows<Of extends Table>(
  db: Kysely<Database>,
  table: Of,
  where: Values<Of>,
  set: Values<Of>,
  rest = sql``,
): Promise<number> {
  const pairs = Object.entries(set).map(([column, value]) => sql`${sql.raw(column)} = ${value}`);
  return countRows(db, sql`update ${sql.raw(table)} set ${sql.join(pairs)} ${whereIs(where)} ${rest}`);
}

function equalities(values: object): RawBuilder<unknown>[] {
  return Object.entries(values).map(([column, value]) =>
    value === null ? sql`${sql.raw(column)} is null` : sql`${sql.raw(column)} = ${value}`,
  );
}

function whereIs(values: object): RawBuilder<unknown> {
  const each = equalities(values);
  return each.length === 0 ? sql`` : sql`where ${sql.join(each, sql` and `)}`;
}

async function countRows(db: Kysely<Database>, statement: RawBuilder<unknown>): Promise<number> {
  return Number((await statement.execute(db)).numAffectedRows ?? 0);
}

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name;

export function fromRow<Row extends object>(row: Row) {
  const named = rename(row, /_[a-z]/g, (found) => found.charAt(1).toUpperCase());
  return named as { [Key in keyof Row as Camel<Key & string>]: Row[Key] };
}

export function toRow<Value extends object>(value: Value) {
  const named = rename(value, /[A-Z]/g, (found) => `_${found.toLowerCase()}`);
  return named as { -readonly [Key in keyof Value as Snake<Key & string>]: Value[Key] };
}

function rename(value: object, part: RegExp, change: (found: string) => string): unknown {
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name.replace(part, change), each]));
}

/** In order. A store that has a name from before the first of them is of an older version. */
const MIGRATIONS: readonly { readonly name: string; readonly up: (db: Kysely<unknown>) => Promise<void> }[] =
  [{ name: "201-tables", up: createTables }];

/** A migration that takes away or changes what an older process uses has a name that ends so; such a process finishes and ends. */
const BREAKING = /-breaking$/;

/** Names begin with three digits that only grow. */
function isOlder(name: string): boolean {
  return name < (MIGRATIONS[0]?.name ?? "");
}

export async function newerSchema(db: Kysely<Database>): Promise<NewerSchema> {
  const { unknown } = await migrationStatus(db);
  return {
    added: unknown.filter((name) => !BREAKING.test(name)),
    breaking: unknown.filter((name) => BREAKING.test(name)),
  };
}

/** Any number: a process that migrates a Postgres holds this lock. */
const MIGRATION_LOCK = 7_433_001;

const MIGRATED = new WeakSet<Kysely<Database>>();

/** The process for which this one works has opened the store, and goes on with it while a later version only adds to it. */
export function takeAsMigrated(db: Kysely<Database>): void {
  MIGRATED.add(db);
}

/** Applies what is missing, in order, in one transaction; a second process that waited finds nothing to do. */
export async function migrate(db: Kysely<Database>, now: () => Date): Promise<string[]> {
  if (MIGRATED.has(db)) return [];
  const { pending, unknown } = await migrationStatus(db);
  if (unknown.length > 0) throw new NewerStore(unknown);
  if (pending.length === 0) return [];
  const done: string[] = [];
  await db.transaction().execute(async (transaction) => {
    if (isPostgres(db)) {
      // Another process may migrate for longer than a statement waits for a lock.
      await sql`set local lock_timeout = 0`.execute(transaction);
      await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction);
    }
    await sql`create table if not exists migrations (name text primary key, applied_at text not null)`.execute(
      transaction,
    );
    const applied = await appliedNames(transaction);
    for (const { name, up } of MIGRATIONS) {
      if (applied.includes(name)) continue;
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
  const listed = sql<{ name: string }>`select name from migrations order by name`;
  return (await listed.execute(db)).rows.map(({ name }) => name);
}

function isPostgres(db: Kysely<Database>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
