/**
 * The embedded store of a server, lent to its hands. The front is the only writer: a hand sends each statement with its values over its
 * channel and gets the rows. Out: a `Kysely` for the hand, and for the front what answers it. Invariant: a transaction of a hand that is
 * stopped, busy or dead is taken back by the front, and every later statement of it fails, so that no hand keeps the store locked.
 */
import {
  CompiledQuery,
  type ControlledTransaction,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
} from "kysely";
import type { LentStore, StoreAnswer, StoreQuestion } from "../../application/ports/store-lent.ts";
import { toErrorText } from "../../domain/platform/error-text.ts";
import { readStoreAway, StoreAway, type StoreAwayKind } from "../../domain/store/store-trouble.ts";
import type { Database } from "./schema.ts";
import { createSqliteDialect, toQueryResult } from "./sqlite.ts";

export function lendStore(db: Kysely<Database>): LentStore {
  const open = new Map<number, ControlledTransaction<Database>>();
  const running = new Set<number>();
  const state = { isClosed: false, isSilent: false };

  async function takeBack(): Promise<void> {
    const all = [...open].filter(([connection]) => !running.has(connection));
    for (const [connection] of all) open.delete(connection);
    for (const [, transaction] of all) await transaction.rollback().execute();
  }

  async function execute({
    connection,
    text,
    parameters,
    within,
  }: StoreQuestion): Promise<QueryResult<unknown>> {
    const query = CompiledQuery.raw(text, [...parameters]);
    if (within === "none") return db.executeQuery(query);
    if (within === "first") {
      const begun = await db.startTransaction().execute();
      // It was asked for before the hand fell silent: the turn came too late.
      if (state.isSilent) await begun.rollback().execute();
      else open.set(connection, begun);
    }
    const transaction = open.get(connection);
    if (transaction === undefined) {
      if (text === "rollback") return { rows: [] };
      throw new StoreAway(
        "locked",
        "the transaction of a process that was silent for too long was taken back",
      );
    }
    if (text !== "commit" && text !== "rollback") return transaction.executeQuery(query);
    open.delete(connection);
    try {
      if (text === "commit") await transaction.commit().execute();
    } finally {
      // A commit that failed, on a full disk, still has the connection.
      if (!transaction.isCommitted) await transaction.rollback().execute();
    }
    return { rows: [] };
  }

  return {
    async answer(question) {
      const { id, connection } = question;
      running.add(connection);
      try {
        const { rows, numAffectedRows } = await execute(question);
        return { id, rows, ...(numAffectedRows !== undefined && { changes: Number(numAffectedRows) }) };
      } catch (error) {
        return { id, failure: toFailure(error) };
      } finally {
        running.delete(connection);
        if (state.isClosed) await takeBack();
      }
    },
    async takeBack() {
      state.isSilent = true;
      await takeBack();
    },
    hear: () => {
      state.isSilent = false;
    },
    async close() {
      state.isClosed = true;
      await takeBack();
    },
    isOpen: () => [...open.keys()].some((connection) => !running.has(connection)),
  };
}

function toFailure(error: unknown): NonNullable<StoreAnswer["failure"]> {
  const away = readStoreAway(error);
  const { code } = error as { readonly code?: unknown };
  return {
    message: toErrorText(error),
    ...(away !== null && { away }),
    ...((typeof code === "string" || typeof code === "number") && { code }),
  };
}

function toError({ message, away, code }: NonNullable<StoreAnswer["failure"]>): Error {
  if (away !== undefined) return new StoreAway(away as StoreAwayKind, message);
  return Object.assign(new Error(message), code !== undefined && { code });
}

/** The store of a hand: its statements are asked of the front. */
export function openLentStore(
  ask: (question: Omit<StoreQuestion, "id">) => Promise<StoreAnswer>,
): Kysely<Database> {
  const count = { connections: 0 };
  /** Those whose transaction was begun here; the front hears of it with the first statement. */
  const states = new Map<DatabaseConnection, { readonly number: number; within: StoreQuestion["within"] }>();

  function connect(): DatabaseConnection {
    count.connections += 1;
    const state = { number: count.connections, within: "none" as StoreQuestion["within"] };
    const connection: DatabaseConnection = {
      async executeQuery<R>({ sql: text, parameters }: CompiledQuery) {
        const { number, within } = state;
        if (within === "first") state.within = "begun";
        const { rows, changes, failure } = await ask({ connection: number, text, parameters, within });
        if (failure !== undefined) throw toError(failure);
        if (changes === undefined) return { rows: (rows ?? []) as R[] };
        return toQueryResult({ changes, lastInsertRowid: 0 }) as QueryResult<R>;
      },
      // biome-ignore lint/correctness/useYield: no query is read row by row.
      async *streamQuery() {
        throw new Error("the embedded store answers whole");
      },
    };
    states.set(connection, state);
    return connection;
  }

  async function end(connection: DatabaseConnection, text: "commit" | "rollback"): Promise<void> {
    const state = states.get(connection);
    if (state === undefined) return;
    const { within } = state;
    // Nothing was asked within it.
    if (within !== "first") await connection.executeQuery(CompiledQuery.raw(text));
    state.within = "none";
  }

  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => connect(),
    async beginTransaction(connection) {
      const state = states.get(connection);
      if (state !== undefined) state.within = "first";
    },
    commitTransaction: (connection) => end(connection, "commit"),
    rollbackTransaction: (connection) => end(connection, "rollback"),
    releaseConnection: async (connection) => void states.delete(connection),
    destroy: async () => {},
  };
  return new Kysely<Database>({ dialect: createSqliteDialect(driver) });
}
