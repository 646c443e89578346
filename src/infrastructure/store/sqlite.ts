import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Kysely, type SqliteDatabase, SqliteDialect } from "kysely";
import { createGiveWay } from "./give-way.ts";
import type { Database } from "./schema.ts";

const TURN_MS = 5;

/** Opens the embedded store. Readers never wait for a writer; a writer waits up to ten seconds for another. */
export function openSqlite(file: string): Kysely<Database> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(file);
  database.exec("pragma busy_timeout = 10000; pragma journal_mode = wal; pragma synchronous = normal");
  return new Kysely<Database>({
    dialect: new SqliteDialect({ database: adapt(database) }),
    plugins: [createGiveWay(TURN_MS)],
  });
}

/** `node:sqlite` in the shape Kysely expects of a driver. */
function adapt(database: DatabaseSync): SqliteDatabase {
  return {
    close: () => database.close(),
    prepare(text) {
      const statement = database.prepare(text === "begin" ? "begin immediate" : text);
      return {
        reader: statement.columns().length > 0,
        all: (parameters) => statement.all(...(parameters as never[])),
        run: (parameters) => statement.run(...(parameters as never[])),
        iterate: (parameters) => statement.iterate(...(parameters as never[])) as IterableIterator<unknown>,
      };
    },
  };
}
