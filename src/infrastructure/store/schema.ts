import type { Generated, Selectable, Transaction } from "kysely";
import type { ADDED_TABLES, SQLITE_TABLES, TABLES } from "./tables.ts";

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

type Tables = TablesOf<(typeof TABLES | typeof SQLITE_TABLES | typeof ADDED_TABLES)[number]>;

/** The tables of the store, as Kysely sees them. */
export interface Database extends Omit<Tables, "images"> {
  /** `pieces`: how many an image has; null for one from before there were pieces. */
  images: Tables["images"] & { pieces: number | null };
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

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name;

/** A row by the names of the code. */
export function fromRow<Row extends object>(row: Row) {
  const named = rename(row, /_[a-z]/g, (found) => found.charAt(1).toUpperCase());
  return named as { [Key in keyof Row as Camel<Key & string>]: Row[Key] };
}

/** Values of the code by the names of their columns. */
export function toRow<Value extends object>(value: Value) {
  const named = rename(value, /[A-Z]/g, (found) => `_${found.toLowerCase()}`);
  return named as { -readonly [Key in keyof Value as Snake<Key & string>]: Value[Key] };
}

function rename(value: object, part: RegExp, change: (found: string) => string): unknown {
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name.replace(part, change), each]));
}
