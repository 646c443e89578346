import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { finished } from "node:stream/promises";
import type { Kysely } from "kysely";
import type { FillResult } from "../../application/ports/store.ts";
import { fillStore } from "./fill-store.ts";
import { asWaiting, KEPT_TABLES, type KeptTable, type StoredRow } from "./kept-tables.ts";
import { migrationStatus } from "./migrate.ts";
import { readRows } from "./read-rows.ts";
import { createRowDigest, type TableDigest } from "./row-digest.ts";
import type { Database } from "./schema.ts";
import { withSnapshot } from "./snapshot.ts";

interface Manifest {
  readonly version: string;
  readonly made_at: string;
  readonly migrations: readonly string[];
  readonly tables: Readonly<Record<string, TableDigest>>;
  /** Journals and undo data lie here, and are not in the backup. */
  readonly undo_data: readonly string[];
}

const MANIFEST = "manifest.json";
const tableFileOf = (folder: string, table: string) => join(folder, "store", `${table}.ndjson`);

export interface BackupDeps {
  readonly folder: string;
  readonly version: string;
  readonly now: Date;
  readonly undoData: readonly string[];
  readonly configFile: string;
}

/** One file of rows a table, the configuration, and last the manifest: without it, it is no backup. */
export async function writeBackup(db: Kysely<Database>, parts: BackupDeps): Promise<number> {
  const { folder, version, now, undoData, configFile } = parts;
  mkdirSync(join(folder, "store"), { recursive: true, mode: 0o700 });
  const tables: Record<string, TableDigest> = {};
  const migrations = await withSnapshot(db, async (frozen) => {
    for (const table of KEPT_TABLES)
      tables[table] = await writeTable(frozen, table, tableFileOf(folder, table));
    return (await migrationStatus(frozen)).applied;
  });
  if (existsSync(configFile)) await copyFile(configFile, join(folder, "config.yaml"));
  const made: Manifest = { version, made_at: now.toISOString(), migrations, tables, undo_data: undoData };
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
export async function readBackup(db: Kysely<Database>, folder: string): Promise<FillResult> {
  const manifest = manifestIn(folder);
  if (manifest === null) return { status: "damaged", file: join(folder, MANIFEST) };
  const { applied } = await migrationStatus(db);
  if (applied.join() !== manifest.migrations.join())
    return { status: "other-version", version: manifest.version };
  for (const table of KEPT_TABLES) {
    const file = tableFileOf(folder, table);
    const found = createRowDigest();
    try {
      for await (const row of rowsIn(file)) found.add(row);
    } catch {
      return { status: "damaged", file };
    }
    if (found.result().digest !== manifest.tables[table]?.digest) return { status: "damaged", file };
  }
  return fillStore(db, { rows: (table) => rowsIn(tableFileOf(folder, table)), expected: manifest.tables });
}

function manifestIn(folder: string): Manifest | null {
  try {
    const read = JSON.parse(readFileSync(join(folder, MANIFEST), "utf8")) as Partial<Manifest>;
    return Array.isArray(read.migrations) && typeof read.tables === "object" ? (read as Manifest) : null;
  } catch {
    return null;
  }
}

async function* rowsIn(file: string): AsyncGenerator<StoredRow> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) yield JSON.parse(line) as StoredRow;
}
