import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { copyFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { finished } from "node:stream/promises";
import { type Kysely, PostgresAdapter, sql } from "kysely";
import type { FillResult, StoreData } from "../../application/ports/store.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { openMigratedStore, openSqlite } from "./open-store.ts";
import { type Database, migrationStatus } from "./schema.ts";
import { TABLES } from "./tables.ts";

export type KeptTable = keyof Database;

/** Tables that only state who works on what now. A copy has none of it: the process that next serves a workspace queues its work again. */
const PASSING: ReadonlySet<string> = new Set<KeptTable>([
  "login_links",
  "work",
  "work_claims",
  "work_owners",
  "machines",
  "machine_processes",
  "told_away",
  "control_orders",
  "order_answers",
  "fleet_jobs",
]);

const KEPT_TABLES = TABLES.flatMap((statement) => /^create table (\w+)/.exec(statement)?.[1] ?? []).filter(
  (name): name is KeptTable => !PASSING.has(name),
);

/** Rows that any process writes by itself, so that they do not make a store one in use. */
const INDEX_TABLES: readonly KeptTable[] = ["jobs", "events", "forge_deliveries"];

export type StoredRow = Readonly<Record<string, unknown>>;

/** A row for another store: no process works on it there, and its workspace may have another name. */
function asWaiting(row: StoredRow, nameOf: (workspace: string) => string): StoredRow {
  const named = typeof row.workspace === "string" ? nameOf(row.workspace) : undefined;
  return {
    ...row,
    ...(named !== undefined && { workspace: named }),
    ...("work_id" in row && { work_id: null }),
  };
}

const ROWS_PER_PAGE = 500;
const ROW_POSITION_COLUMN = "place_of_row";

/** All rows of a table that does not change, page by page, in the order of storage. */
async function* readRows(frozen: Kysely<Database>, table: KeptTable): AsyncGenerator<StoredRow> {
  const isPostgres = frozen.getExecutor().adapter instanceof PostgresAdapter;
  const place = isPostgres ? sql.raw("ctid") : sql.raw("rowid");
  const shown = isPostgres ? sql.raw("ctid::text") : sql.raw("rowid");
  let after = sql``;
  for (;;) {
    const { rows } = await sql<Record<string, unknown>>`
      select ${sql.table(table)}.*, ${shown} as ${sql.ref(ROW_POSITION_COLUMN)}
      from ${sql.table(table)} ${after} order by ${place} limit ${ROWS_PER_PAGE}`.execute(frozen);
    for (const { [ROW_POSITION_COLUMN]: _, ...row } of rows) yield row;
    const last = rows.at(-1)?.[ROW_POSITION_COLUMN];
    if (rows.length < ROWS_PER_PAGE) return;
    after = isPostgres ? sql`where ctid > ${last}::text::tid` : sql`where rowid > ${last}`;
  }
}

/** One figure for any number of rows, independent of their order and of the store. */
function createRowDigest() {
  const sum = Buffer.alloc(32);
  let rows = 0;
  return {
    add(row: StoredRow): void {
      const cells = Object.keys(row)
        .sort()
        // Postgres gives large numbers as texts.
        .map((name) => [name, row[name] === null ? null : String(row[name])]);
      const hash = createHash("sha256").update(JSON.stringify(cells)).digest();
      for (let n = 0, carry = 0; n < sum.length; n += 1) {
        const total = (sum[n] as number) + (hash[n] as number) + carry;
        sum[n] = total & 0xff;
        carry = total >> 8;
      }
      rows += 1;
    },
    result: () => ({ rows, digest: sum.toString("hex") }),
  };
}

type TableDigest = ReturnType<ReturnType<typeof createRowDigest>["result"]>;

async function digestOf(rows: AsyncIterable<StoredRow>): Promise<TableDigest> {
  const digest = createRowDigest();
  for await (const row of rows) digest.add(row);
  return digest.result();
}

/** Parameters of one statement are limited. */
const BATCH = 50;

export interface StoreFill {
  readonly rows: (table: KeptTable) => AsyncIterable<StoredRow>;
  /** The rows that must exist afterwards; absent: the result of `rows`. */
  readonly expected?: Readonly<Record<string, TableDigest>>;
}

class UnequalRows extends Error {
  constructor(readonly table: string) {
    super(`the rows of ${table} are not those that were written`);
  }
}

/** Fills an empty store in one transaction and compares what it reads back: all of it or nothing. The index of jobs is replaced. */
async function fillStore(db: Kysely<Database>, { rows, expected }: StoreFill): Promise<FillResult> {
  try {
    return await db.transaction().execute(async (within) => {
      for (const table of KEPT_TABLES)
        if (!INDEX_TABLES.includes(table) && (await readRows(within, table).next()).done !== true)
          return { status: "in-use", table } as const;
      let count = 0;
      for (const table of KEPT_TABLES) {
        await sql`delete from ${sql.table(table)}`.execute(within);
        const given = createRowDigest();
        let batch: StoredRow[] = [];
        const write = async () => {
          if (batch.length > 0)
            await within
              .insertInto(table)
              .values(batch as never)
              .execute();
          batch = [];
        };
        for await (const row of rows(table)) {
          given.add(row);
          batch.push(row);
          if (batch.length === BATCH) await write();
        }
        await write();
        const found = await digestOf(readRows(within, table));
        const wanted = expected?.[table] ?? given.result();
        if (found.digest !== wanted.digest || found.rows !== wanted.rows) throw new UnequalRows(table);
        count += wanted.rows;
      }
      return { status: "filled", rows: count } as const;
    });
  } catch (error) {
    if (error instanceof UnequalRows) return { status: "unequal", table: error.table };
    throw error;
  }
}

/** Reads the store as it is at one moment; other processes continue to use it meanwhile. */
async function withSnapshot<T>(
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
    removeTree(folder);
  }
}

interface Manifest {
  readonly version: string;
  readonly made_at: string;
  readonly migrations: readonly string[];
  readonly tables: Readonly<Record<string, TableDigest>>;
  /** The folder of journals and undo data, which are not in the backup. */
  readonly undo_data: readonly string[];
}

const MANIFEST = "manifest.json";
const tableFileOf = (folder: string, table: string) => join(folder, "store", `${table}.ndjson`);

/** One file of rows a table, the configuration, and last the manifest: without it, the backup is incomplete. */
async function writeBackup(
  { db, version, now, configFile }: StoreDataDeps,
  folder: string,
  undoData: readonly string[],
): Promise<number> {
  mkdirSync(join(folder, "store"), { recursive: true, mode: 0o700 });
  const tables: Record<string, TableDigest> = {};
  const migrations = await withSnapshot(db, async (frozen) => {
    for (const table of KEPT_TABLES)
      tables[table] = await writeTable(frozen, table, tableFileOf(folder, table));
    return (await migrationStatus(frozen)).applied;
  });
  if (existsSync(configFile)) await copyFile(configFile, join(folder, "config.yaml"));
  const made: Manifest = { version, made_at: now().toISOString(), migrations, tables, undo_data: undoData };
  writeFileSync(join(folder, MANIFEST), `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  return Object.values(tables).reduce((sum, { rows }) => sum + rows, 0);
}

async function writeTable(frozen: Kysely<Database>, table: KeptTable, file: string): Promise<TableDigest> {
  const digest = createRowDigest();
  const out = createWriteStream(file, { mode: 0o600 });
  for await (const row of readRows(frozen, table)) {
    const waiting = asWaiting(row, (workspace) => workspace);
    digest.add(waiting);
    if (!out.write(`${JSON.stringify(waiting)}\n`))
      await new Promise((resolve) => out.once("drain", resolve));
  }
  out.end();
  await finished(out);
  return digest.result();
}

/** Into an empty store whose tables are those of the backup. */
async function readBackup(db: Kysely<Database>, folder: string): Promise<FillResult> {
  const manifest = manifestIn(folder);
  if (manifest === null) return { status: "damaged", file: join(folder, MANIFEST) };
  const { applied } = await migrationStatus(db);
  if (applied.join() !== manifest.migrations.join())
    return { status: "other-version", version: manifest.version };
  for (const table of KEPT_TABLES) {
    const file = tableFileOf(folder, table);
    const found = await digestOf(rowsIn(file)).catch(() => null);
    if (found === null || found.digest !== manifest.tables[table]?.digest) return { status: "damaged", file };
  }
  return fillStore(db, { rows: (table) => rowsIn(tableFileOf(folder, table)), expected: manifest.tables });
}

function manifestIn(folder: string): Manifest | null {
  return attemptOr(null, () => {
    const read = JSON.parse(readFileSync(join(folder, MANIFEST), "utf8")) as Partial<Manifest>;
    return Array.isArray(read.migrations) && typeof read.tables === "object" ? (read as Manifest) : null;
  });
}

async function* rowsIn(file: string): AsyncGenerator<StoredRow> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) yield JSON.parse(line) as StoredRow;
}

export interface StoreDataDeps {
  readonly db: Kysely<Database>;
  readonly home: string;
  readonly version: string;
  readonly configFile: string;
  readonly now: () => Date;
  /** Where each workspace keeps journals and undo data. */
  readonly undoData: () => readonly string[];
  /** The name of a workspace of this machine in the store at an address. */
  readonly nameIn: (databaseUrl: string, workspace: string) => string;
  readonly forget: StoreData["forget"];
}

/** The store of an installation as a whole: to keep, to bring back, to move, to forget. */
export function createStoreData(deps: StoreDataDeps): StoreData {
  const { db, home, now } = deps;
  return {
    async backup(folder) {
      if (existsSync(folder) && readdirSync(folder).length > 0) return { status: "exists" };
      const undoData = deps.undoData();
      return { status: "made", rows: await writeBackup(deps, folder, undoData), undoData };
    },
    restore: (folder) => readBackup(db, folder),
    async copyTo(databaseUrl) {
      const filled = await openMigratedStore({ home, databaseUrl }, now);
      if (!filled.ok) return { status: "not-opened", trouble: filled.trouble };
      const target = filled.db;
      const nameOf = (name: string) => deps.nameIn(databaseUrl, name);
      try {
        return await withSnapshot(db, (frozen) =>
          fillStore(target, {
            rows: async function* (table: KeptTable) {
              for await (const row of readRows(frozen, table)) yield asWaiting(row, nameOf);
            },
          }),
        );
      } finally {
        await target.destroy();
      }
    },
    forget: deps.forget,
    close: () => db.destroy(),
  };
}
