import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import { Pool, type PoolClient } from "pg";
import { readStoreAway } from "../../domain/store/store-trouble.ts";
import type { Database } from "./schema.ts";

/** Texts beyond that are planned each time. */
const MOST_NAMES = 200;
/** A plan for a few rows is wrong for ten thousand, and a queue grows faster than the server notices. */
const PLAN_HOLDS_MS = 1_000;
/** A kept plan that answers with every column fails when a later version adds one. */
const EVERY_COLUMN = /\b(?:select|returning) (?:"\w+"\.)?\*/i;

/**
 * Connections whose statements are prepared once and called by name, unless a pooler is between them and the server; and whose
 * transactions begin together with their first statement, without a round trip of their own.
 */
export function withPreparedStatements(
  pool: Pool,
  clock: () => number = performance.now.bind(performance),
): PostgresPool {
  const clients = new WeakMap<PoolClient, KnownClient>();
  const names = createNames();
  /** A connection of a read-only server stays read-only when that is over: each of before is given up. */
  const state = { era: 0 };
  const locks = { seenAt: Number.NEGATIVE_INFINITY };
  const onAway = (error: unknown) => {
    const away = readStoreAway(error);
    if (away === "read-only") state.era += 1;
    if (away === "locked") locks.seenAt = clock();
  };
  const connectCurrent = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    const known = clients.get(client);
    if (known === undefined || known.era === state.era) return client;
    client.release(true);
    return connectCurrent();
  };
  return {
    async connect() {
      const client = await connectCurrent();
      const known = clients.get(client);
      if (known !== undefined) {
        known.waitForLocks(clock() - locks.seenAt < LOCK_MS ? LATER_LOCK_MS : LOCK_MS);
        return known.made;
      }
      const { era } = state;
      try {
        const direct = await isDirect(client);
        const made = toPreparingClient(client, direct ? names : () => undefined, clock, onAway);
        clients.set(client, { made, era, waitForLocks: direct ? createLockWait(client) : () => {} });
        return made;
      } catch (error) {
        client.release(true);
        throw error;
      }
    },
    end: () => pool.end(),
    options: pool.options,
  };
}

interface KnownClient {
  readonly made: PostgresPoolClient;
  readonly era: number;
  waitForLocks(ms: number): void;
}

/** A statement waits so long for a lock, as a writer of SQLite does. */
const LOCK_MS = 10_000;
/** After a wait that was in vain, the next statements do not wait as long again, one after the other. */
const LATER_LOCK_MS = 1_000;

/** A question about health waits less, and says nothing about how long a statement would. */
const PROBES_LOCKS = /^lock table /i;

function createLockWait(client: PoolClient): (ms: number) => void {
  const state = { ms: LOCK_MS };
  return (ms) => {
    if (ms === state.ms) return;
    state.ms = ms;
    client.query(`set lock_timeout = ${ms}`).catch(() => {});
  };
}

/** Behind a pooler each transaction may meet another process of the server, which knows no names. */
async function isDirect(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return "processID" in client && client.processID === rows[0]?.pid;
}

type StatementNames = (text: string) => string | undefined;

/** One name a text in all connections of this process. */
function createNames(): StatementNames {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= MOST_NAMES) return known;
    if (EVERY_COLUMN.test(text)) return undefined;
    const name = `picoclaw_${names.size}`;
    names.set(text, name);
    return name;
  };
}

function toPreparingClient(
  client: PoolClient,
  names: StatementNames,
  clock: () => number,
  onAway: (error: unknown) => void,
): PostgresPoolClient {
  const state: { begun: Promise<unknown> | null; plannedAt: number } = { begun: null, plannedAt: clock() };
  /** The next statement reports a failure here. */
  const ahead = (text: string) => {
    const answer = client.query(text);
    answer.catch(() => {});
    return answer;
  };
  const begin = () => {
    state.begun = ahead("begin");
    return { command: "BEGIN" as const, rowCount: 0, rows: [] };
  };
  const query = async (text: string, values: readonly unknown[]) => {
    if (text === "begin") return begin();
    const { begun } = state;
    state.begun = null;
    const name = names(text);
    if (name !== undefined && clock() - state.plannedAt >= PLAN_HOLDS_MS) {
      state.plannedAt = clock();
      ahead("discard plans");
    }
    const answer = client.query({ text, values: [...values], ...(name !== undefined && { name }) });
    try {
      await Promise.all([begun, answer]);
    } catch (error) {
      if (!PROBES_LOCKS.test(text)) onAway(error);
      throw error;
    }
    return answer;
  };
  // Nothing is read through a cursor here.
  return {
    query: query as unknown as PostgresPoolClient["query"],
    release: (broken) => client.release(broken),
  };
}

/** Between two statements of one transaction; shorter than it takes to be held for dead. */
const LONGEST_PAUSE_MS = 10_000;

/** Connections are made when they are needed and given up when idle. */
export function openPostgres(url: string): Kysely<Database> {
  const pool = new Pool({
    connectionString: url,
    max: 8,
    pipeline: true,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    application_name: "picoclaw",
  });
  // A connection that breaks while idle is reopened at the next query.
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    // One that breaks between two statements of a transaction emits an event without a listener; the next statement fails.
    client.on("error", () => {});
    // A process that is stopped, or a machine that is cut off, within a transaction would keep its rows locked for all.
    client.query(`set idle_in_transaction_session_timeout = ${LONGEST_PAUSE_MS}`).catch(() => {});
    client.query(`set lock_timeout = ${LOCK_MS}`).catch(() => {});
  });
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool: withPreparedStatements(pool) }) });
}
