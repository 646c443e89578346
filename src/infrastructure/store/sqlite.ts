import type { DatabaseSync } from "node:sqlite";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { isLockedError, StoreAway } from "../../domain/store/store-trouble.ts";
import { watchStoreFiles } from "./store-files.ts";

/** The newest that were used stay; making one again costs more than running it. */
export function createStatementCache<T>(most: number, make: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    // The last used entry is last.
    if (known !== undefined) kept.delete(text);
    const one = known ?? make(text);
    kept.set(text, one);
    if (kept.size > most) kept.delete(kept.keys().next().value as string);
    return one;
  };
}

/** A message needs some thirty of them. */
const MOST_STATEMENTS = 100;
const MAKES_TABLES = /^(?:create|alter|drop) /i;

interface Statement {
  readonly isReader: boolean;
  all(parameters: readonly unknown[]): unknown[];
  run(parameters: readonly unknown[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
}

function createStatements(database: DatabaseSync): (text: string) => Statement {
  const make = (text: string): Statement => {
    const statement = database.prepare(text);
    return {
      isReader: statement.columns().length > 0,
      all: (parameters) => statement.all(...(parameters as never[])),
      run: (parameters) => statement.run(...(parameters as never[])),
    };
  };
  const kept = createStatementCache(MOST_STATEMENTS, make);
  return (text) => (MAKES_TABLES.test(text) ? make(text) : kept(text));
}

/** How a statement waits while another process writes; a test has its own time. */
export interface Patience {
  now(): number;
  pause(ms: number): Promise<void>;
}

const REAL_PATIENCE: Patience = {
  now: performance.now.bind(performance),
  pause: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
};

/** Between two tries, as SQLite's own handler waits. */
const PAUSES_MS = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50] as const;
const LONGEST_PAUSE_MS = 100;
/** Since the store was first found locked: those that come later do not wait as long again, one after the other. */
const LOCKED_MS = 10_000;
/** Each statement waits so long at least, for a lock that is new. */
const LEAST_WAIT_MS = 250;

function createTurns(): { take(): Promise<void>; pass(): void } {
  const waiting: (() => void)[] = [];
  const state = { taken: false };
  return {
    take: () => {
      if (state.taken) return new Promise((resolve) => void waiting.push(resolve));
      state.taken = true;
      return Promise.resolve();
    },
    pass: () => {
      const next = waiting.shift();
      if (next === undefined) state.taken = false;
      else next();
    },
  };
}

/** Statements that do not change the store by themselves. */
const CHANGES_NOTHING = /^\s*(?:select|pragma|commit|rollback|savepoint|release)\b/i;

/** One connection for all callers, kept for a statement or a transaction, but given to readers while it waits for another process. */
export function createSqliteDriver(
  database: DatabaseSync,
  file: string,
  { now, pause }: Patience = REAL_PATIENCE,
): Driver {
  const statements = createStatements(database);
  const turns = createTurns();
  const files = watchStoreFiles(file);
  const state: { lockedSince: number | null; isClosed: boolean } = { lockedSince: null, isClosed: false };

  function run(text: string, parameters: readonly unknown[]): QueryResult<unknown> {
    const changes = !database.isTransaction && !CHANGES_NOTHING.test(text);
    // The end of a transaction acknowledges its writes.
    const stores = (changes && text !== "begin") || text === "commit";
    if (stores) refuseGone();
    // SQLite rolls back by itself on a full disk; report the first failure, not this one.
    if (text === "rollback" && !database.isTransaction) return { rows: [] };
    try {
      const statement = statements(text === "begin" ? "begin immediate" : text);
      const result = statement.isReader
        ? { rows: statement.all(parameters) }
        : toQueryResult(statement.run(parameters));
      if (changes) state.lockedSince = null;
      // Writes after a truncation are lost with this process, so they are not acknowledged.
      if (stores && !database.isTransaction) refuseGone();
      return result;
    } catch (error) {
      refuseGone(error);
      throw error;
    }
  }

  function refuseGone(cause?: unknown): void {
    const gone = files.findGone();
    if (gone === null) return;
    const text = `${gone} was deleted, replaced, emptied or truncated while PicoClaw ran: stop PicoClaw, restore a backup and start it again`;
    throw new StoreAway("gone", text, { cause });
  }

  async function executeQuery({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<unknown>> {
    const from = now();
    for (let tries = 0; ; tries++)
      try {
        return run(text, parameters);
      } catch (error) {
        if (!isLockedError(error) || database.isTransaction) throw error;
        state.lockedSince ??= from;
        if (state.isClosed || now() >= Math.max(state.lockedSince + LOCKED_MS, from + LEAST_WAIT_MS))
          throw new StoreAway("locked", `another process keeps ${file} locked`, { cause: error });
        turns.pass();
        await pause(PAUSES_MS[tries] ?? LONGEST_PAUSE_MS);
        await turns.take();
      }
  }

  const connection: DatabaseConnection = {
    executeQuery: executeQuery as DatabaseConnection["executeQuery"],
    // biome-ignore lint/correctness/useYield: no query is read row by row.
    async *streamQuery() {
      throw new Error("the embedded store answers whole");
    },
  };
  const execute = async (sql: string) =>
    void (await executeQuery({ sql, parameters: [] } as unknown as CompiledQuery));
  return {
    init: async () => {},
    async acquireConnection() {
      await turns.take();
      return connection;
    },
    beginTransaction: () => execute("begin"),
    commitTransaction: () => execute("commit"),
    rollbackTransaction: () => execute("rollback"),
    releaseConnection: async () => turns.pass(),
    async destroy() {
      state.isClosed = true;
      database.close();
      files.close();
    },
  };
}

export function toQueryResult({
  changes,
  lastInsertRowid,
}: ReturnType<Statement["run"]>): QueryResult<unknown> {
  return { insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes), rows: [] };
}

/** Turns are taken here: a turn of Kysely's own cannot be passed on. */
class SharedConnectionAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

export function createSqliteDialect(driver: Driver): Dialect {
  return {
    createDriver: () => driver,
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new SharedConnectionAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}
