import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Kysely, type KyselyPlugin, PostgresAdapter, sql } from "kysely";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { readStoreAway, StoreAway, type StoreTrouble } from "../../domain/store/store-trouble.ts";
import { type Database, migrate, migrationStatus, NewerStore, OlderStore, upsertRow } from "./schema.ts";
import { createSqliteDialect, createSqliteDriver, type Patience } from "./sqlite.ts";
import { POSTGRES_TABLES } from "./tables.ts";

/**
 * The embedded store answers without leaving the event loop's turn, so chats could keep a webhook waiting that must be acknowledged.
 * With this plugin a query that ends a long turn lets the event loop handle what has arrived.
 */
function createGiveWay(turnMs: number): KyselyPlugin {
  let since = performance.now();
  return {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (performance.now() - since >= turnMs) {
        await new Promise<void>((resolve) => void setImmediate(resolve));
        since = performance.now();
      }
      return result;
    },
  };
}

const TURN_MS = 5;

/** Two processes that open a new store at the same time: SQLite refuses the second one's switch at once, regardless of its timeout. */
function switchToLog(database: DatabaseSync): void {
  for (let attempt = 1; ; attempt++)
    try {
      database.exec("pragma journal_mode = wal");
      return;
    } catch (error) {
      if (attempt === SWITCH_TRIES || !/locked|busy/i.test(String(error))) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
}
/** Ten seconds, as a writer waits for another. */
const SWITCH_TRIES = 1_000;

/**
 * Pages of the log that are carried into the file at once, 8 MB. A message writes most of its pages again with the next one, so more
 * save time (4,000 against 1,000: a fifteenth), but carrying 1,000 pages of images takes 6 to 9 ms in one go.
 */
const LOG_PAGES = 2_000;
/** 120 MB (a multiple of 256 would mean `off`): pages that are logged before the commit could hide a hole in the log. */
const MEMORY_PAGES = 30_000;

/** Readers never wait for a writer. A writer waits up to ten seconds for another process; the rest of this one continues meanwhile. */
export function openSqlite(file: string, patience?: Patience): Kysely<Database> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  keepPrivate(file);
  const database = new DatabaseSync(file);
  // A wait of SQLite's own would stop the event loop.
  database.exec("pragma busy_timeout = 0");
  switchToLog(database);
  database.exec("pragma synchronous = normal");
  database.exec(`pragma cache_spill = ${MEMORY_PAGES}`);
  database.exec(`pragma wal_autocheckpoint = ${LOG_PAGES}`);
  return new Kysely<Database>({
    dialect: createSqliteDialect(createSqliteDriver(database, file, patience)),
    plugins: [createGiveWay(TURN_MS)],
  });
}

/** Conversations are for their owner alone; SQLite gives its log the mode of the file. Another user's file is opened as it is, or fails. */
function keepPrivate(file: string): void {
  succeeds(() => closeSync(openSync(file, "a", 0o600)));
  for (const one of [file, `${file}-wal`, `${file}-shm`]) {
    const mode = attemptOr(0, () => statSync(one).mode);
    if ((mode & 0o077) !== 0) succeeds(() => chmodSync(one, mode & 0o700));
  }
}

export interface StoreLocation {
  readonly home: string;
  /** As `database_url`, its reference resolved. */
  readonly databaseUrl: string | undefined;
}

export type OpenedStore =
  | { readonly ok: true; readonly db: Kysely<Database> }
  | { readonly ok: false; readonly trouble: StoreTrouble };

/** Postgres where the configuration names one, else the file in PICOCLAW_HOME. A store that does not answer is reported at once. */
export async function openMigratedStore(
  place: StoreLocation,
  now: () => Date,
  options: { readonly migrate: boolean } = { migrate: true },
): Promise<OpenedStore> {
  let db: Kysely<Database> | undefined;
  try {
    db = await openStore(place);
    if (options.migrate) await migrate(db, now);
    else await migrationStatus(db);
    return { ok: true, db };
  } catch (cause) {
    await db?.destroy();
    return { ok: false, trouble: troubleOf(place, cause) };
  }
}

async function openStore(place: StoreLocation): Promise<Kysely<Database>> {
  if (place.databaseUrl === undefined) return openSqlite(storeFileOf(place));
  return (await import("./postgres.ts")).openPostgres(place.databaseUrl);
}

export function storeFileOf({ home }: Pick<StoreLocation, "home">): string {
  return join(home, "picoclaw.db");
}

/** Without a password. */
function storeNameOf(place: StoreLocation): Pick<StoreTrouble, "kind" | "name"> {
  if (place.databaseUrl === undefined) return { kind: "sqlite", name: storeFileOf(place) };
  const url = URL.parse(place.databaseUrl);
  return { kind: "postgres", name: url === null ? "postgres" : `postgres://${url.host}${url.pathname}` };
}

function troubleOf(place: StoreLocation, cause: unknown): StoreTrouble {
  const [name, detail] = [storeNameOf(place), detailOf(cause)];
  const isFile = name.kind === "sqlite";
  const why = (): StoreTrouble["why"] => {
    if (cause instanceof NewerStore) return "newer";
    if (cause instanceof OlderStore) return "older";
    if (isFile && /not a database|malformed|corrupt/i.test(detail)) return "damaged";
    if (!isFile && /certificate|altnames|sslrootcert/i.test(detail)) return "distrusted";
    return !isFile && readStoreAway(cause) === "read-only" ? "read-only" : "unreachable";
  };
  return { ...name, detail, why: why() };
}

function detailOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = "code" in cause ? String(cause.code) : "";
  return cause.message || code || cause.name;
}

/** No forge names a delivery so. */
const TRIAL_ROW = "readiness";

/** Rejects if the store takes no writes: a full disk can still be read. Its row changes each time; SQLite writes nothing otherwise. */
export async function tryWrite(db: Kysely<Database>, now: Date): Promise<void> {
  await upsertRow(db, "forge_deliveries", { id: TRIAL_ROW, seen_at: now.toISOString() }, ["id"]);
  if (db.getExecutor().adapter instanceof PostgresAdapter) await tryGrowth(db);
}

/** Shorter than a question about health may take. */
const TABLES_MS = 2_000;
/** Where messages wait; the queue's own. */
const QUEUE_TABLE = "picoclaw_queue.job";

/** Rejects if a table is kept locked, or may not be written. The embedded store is one file: a write to any table tells. */
export async function tryTables(db: Kysely<Database>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
  const tables = sql.join([...POSTGRES_TABLES, QUEUE_TABLE].map((name) => sql.lit(name)));
  const may = (right: string) => sql`has_table_privilege(name, ${sql.lit(right)})`;
  const rights = sql.join(["select", "insert", "update", "delete"].map(may), sql` and `);
  await db.transaction().execute(async (within) => {
    await sql`set local lock_timeout = ${sql.lit(TABLES_MS)}`.execute(within);
    const { rows } = await sql<{ name: string; may: boolean }>`select name, ${rights} as may
      from unnest(array[${tables}]) as name where to_regclass(name) is not null`.execute(within);
    const denied = rows.filter(({ may }) => !may).map(({ name }) => name);
    if (denied.length > 0)
      throw new StoreAway(
        "denied",
        `the account of database_url may not read and write ${denied.join(", ")}`,
      );
    const names = rows.map(({ name }) => sql.raw(name));
    await sql`lock table ${sql.join(names)} in row exclusive mode`.execute(within).catch((error: unknown) => {
      if (readStoreAway(error) !== "locked") throw error;
      throw new StoreAway("locked", "another session keeps a table of the database locked", { cause: error });
    });
  });
}

/** Pages of the server, more than a table that was just emptied can have kept. */
const TRIAL_BYTES = 64 * 1024;

/** On a full disk Postgres still changes rows in pages that it has. A table of the connection's own takes new ones until its end. */
async function tryGrowth(db: Kysely<Database>): Promise<void> {
  try {
    await db.transaction().execute(async (within) => {
      await sql`create temporary table if not exists readiness_trial (bytes text) on commit delete rows`.execute(
        within,
      );
      // Plain text would be packed into a few bytes.
      await sql`insert into readiness_trial select string_agg(md5(n::text || random()::text), '') from generate_series(1, ${TRIAL_BYTES / 32}::int) as n`.execute(
        within,
      );
    });
  } catch (error) {
    // An account without the right to create tables fails here too, which does not mean a full disk.
    if ((error as { readonly code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
  }
}

const INSUFFICIENT_PRIVILEGE = "42501";

type Closing = { readonly ok: true; close(): Promise<void> };

/** Openings of one key share one connection, which the last closes: two of one process to one SQLite file would wait for each other. */
export function shareOpened<Place, Options, OpenedWorkspace extends Closing | { readonly ok: false }>(
  open: (place: Place, options?: Options) => Promise<OpenedWorkspace>,
  keyOf: (place: Place) => string,
): (place: Place, options?: Options) => Promise<OpenedWorkspace> {
  const shared = new Map<string, { readonly store: Promise<OpenedWorkspace>; users: number }>();
  return async (place, options) => {
    const key = keyOf(place);
    const entry = shared.get(key) ?? { store: open(place, options), users: 0 };
    shared.set(key, entry);
    entry.users += 1;
    const leave = () => {
      entry.users -= 1;
      if (entry.users > 0) return false;
      if (shared.get(key) === entry) shared.delete(key);
      return true;
    };
    const opened = await entry.store.catch((error: unknown) => {
      leave();
      throw error;
    });
    if (!opened.ok) {
      leave();
      return opened;
    }
    return { ...opened, close: async () => void (leave() && (await opened.close())) };
  };
}
