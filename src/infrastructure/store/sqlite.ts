import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Kysely, type SqliteDatabase, SqliteDialect } from "kysely";
import { createGiveWay } from "./give-way.ts";
import { createStatementCache } from "./kept-statements.ts";
import type { Database } from "./schema.ts";

const TURN_MS = 5;
/** A message needs some thirty of them. */
const MOST_STATEMENTS = 100;
const NOTHING_DONE = { changes: 0, lastInsertRowid: 0 };
/** These run once in the life of a store. */
const MAKES_TABLES = /^(?:create|alter|drop) /i;

/** Opens the embedded store. Readers never wait for a writer; a writer waits up to ten seconds for another. */
export function openSqlite(file: string): Kysely<Database> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(file);
  database.exec("pragma busy_timeout = 10000; pragma journal_mode = wal; pragma synchronous = normal");
  return new Kysely<Database>({
    dialect: new SqliteDialect({ database: toKyselyDatabase(database) }),
    plugins: [createGiveWay(TURN_MS)],
  });
}

/** `node:sqlite` in the shape Kysely expects of a driver. */
function toKyselyDatabase(database: DatabaseSync): SqliteDatabase {
  const prepare = (text: string) => database.prepare(text);
  const make = (text: string) => {
    const statement = prepare(text);
    return {
      reader: statement.columns().length > 0,
      all: (parameters: readonly unknown[]) => statement.all(...(parameters as never[])),
      run(parameters: readonly unknown[]) {
        // SQLite takes a transaction back by itself when the disk is full; what failed is to be told, not this.
        if (text === "rollback" && !database.isTransaction) return NOTHING_DONE;
        return statement.run(...(parameters as never[]));
      },
      // One that is read row by row must not be begun again meanwhile.
      iterate: (parameters: readonly unknown[]) =>
        prepare(text).iterate(...(parameters as never[])) as IterableIterator<unknown>,
    };
  };
  const kept = createStatementCache(MOST_STATEMENTS, make);
  return {
    close: () => database.close(),
    prepare: (text) => {
      if (MAKES_TABLES.test(text)) return make(text);
      return kept(text === "begin" ? "begin immediate" : text);
    },
  };
}
