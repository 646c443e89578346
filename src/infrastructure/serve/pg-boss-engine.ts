import { CompiledQuery, sql } from "kysely";
import { Client } from "pg";
import { type CommandResponse, type Db, type JobWithMetadata, PgBoss } from "pg-boss";
import type { NewWork } from "../../application/ports/serve.ts";
import type { StoreTransaction } from "../store/schema.ts";
import type { FetchedWork, WorkEngine } from "./work-engine.ts";

const HEADS =
  /strict_fifo_heads AS MATERIALIZED \(\s*SELECT DISTINCT ON \(h\.singleton_key\) h\.id\s+(FROM [\s\S]+?)\s+ORDER BY h\.singleton_key, ([^)]+?)\s*\),/;
const IS_HEAD = "j.id IN (SELECT id FROM strict_fifo_heads)";

/**
 * pg-boss sorts everything that waits to find the head of each key, at each claim. The same condition, asked of one candidate
 * after the other, is one look into the index: a claim costs the same with ten waiting and with ten thousand. A text
 * that does not look as expected stays as it is.
 */
export function withQuickHeads(text: string): string {
  const [, from, order] = HEADS.exec(text) ?? [];
  if (from === undefined || order === undefined) return text;
  return text.replace(
    IS_HEAD,
    () => `j.id = (SELECT h.id ${from} AND h.singleton_key = j.singleton_key ORDER BY ${order} LIMIT 1)`,
  );
}

const AGAIN_MS = 1_000;

/** Connects again when its connection breaks; the queue's poll finds work that is missed in between. */
export function listenForWork(
  connectionString: string,
  channel: string,
  callback: (queue?: string) => void,
): () => void {
  const state: { client: Client | null; timer: ReturnType<typeof setTimeout> | null; closed: boolean } = {
    client: null,
    timer: null,
    closed: false,
  };

  async function connect(): Promise<void> {
    const client = new Client({ connectionString, keepAlive: true, application_name: "picoclaw listener" });
    state.client = client;
    const broken = () => {
      if (state.client !== client) return;
      state.client = null;
      client.end().catch(() => {});
      if (!state.closed) {
        state.timer = setTimeout(() => void connect(), AGAIN_MS);
        state.timer.unref();
      }
    };
    client.on("error", broken);
    client.on("end", broken);
    // An older version names no queue.
    client.on("notification", ({ payload = "" }) => (payload === "" ? callback() : callback(payload)));
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      callback();
    } catch {
      broken();
    }
  }

  void connect();
  return () => {
    state.closed = true;
    if (state.timer !== null) clearTimeout(state.timer);
    state.client?.end().catch(() => {});
  };
}

const SCHEMA = "picoclaw_queue";
const CHANNEL = "picoclaw_work";
const LIGHT = 1;
const [HOUR_S, DAY_S] = [3_600, 86_400];

const QUEUE = {
  policy: "key_strict_fifo",
  // A job that fails for good would block its key: the process that claims work decides whether it is given up.
  retryLimit: 1_000_000_000,
  retryDelay: 0,
  expireInSeconds: DAY_S,
  retentionSeconds: 3_650 * DAY_S,
  deleteAfterSeconds: HOUR_S,
} as const;

/** Order, exclusion and the fence are pg-boss's. A dead process is noticed by its own missing beat. */
export async function createPgBossEngine(
  connectionString: string,
  onTrouble: (error: unknown) => void,
): Promise<WorkEngine> {
  const boss = new PgBoss({
    connectionString,
    schema: SCHEMA,
    application_name: "picoclaw queue",
    max: 2,
    schedule: false,
    superviseIntervalSeconds: 60,
    maintenanceIntervalSeconds: 600,
    // No job waits for another by name.
    flowIntervalSeconds: DAY_S,
  });
  boss.on("error", onTrouble);
  await boss.start();
  const known = new Map<string, Promise<void>>();
  /** The first process that uses a queue creates it. */
  const ready = (name: string): Promise<void> => {
    const making = known.get(name) ?? boss.createQueue(name, QUEUE);
    known.set(name, making);
    making.catch(() => known.delete(name));
    return making;
  };
  /** Queues that were offered to this process once; it does not claim from those of others. */
  const reported = new Set<string>();
  return {
    mayHave: async (_, { queue }) => {
      await ready(queue);
      return true;
    },
    async insert(within, work) {
      for (const [queue, part] of Map.groupBy(work, (one) => one.queue)) {
        await ready(queue);
        await boss.insert(queue, part.map(toJob), { db: overTransaction(within, andNotify(queue)) });
      }
    },
    async waitsIn(db, queue) {
      const job = sql.table(`${SCHEMA}.job`);
      const { rows } = await sql`select 1 from ${job}
        where name = ${queue} and state < 'active' and not blocked limit 1`.execute(db);
      return rows.length > 0;
    },
    async waits(db, kinds) {
      const job = sql.table(`${SCHEMA}.job`);
      const names = [...known.keys()];
      const { rows } = await sql<{ waits: boolean; fresh: string[] }>`select
        exists (select 1 from ${job} where name = any(${names}) and state < 'active' and not blocked) as waits,
        array(select queue.name from ${sql.table(`${SCHEMA}.queue`)} queue
          where split_part(queue.name, '.', 1) = any(${[...kinds]}) and queue.name <> all(${[...names, ...reported]})
          and exists (select 1 from ${job} job where job.name = queue.name and state < 'active' and not blocked)
        ) as fresh`.execute(db);
      const { waits = false, fresh = [] } = rows[0] ?? {};
      for (const name of fresh) reported.add(name);
      return waits || fresh.length > 0;
    },
    async fetch(within, { queue, lightOnly = false, notGroups = [], id }) {
      const only = id === undefined ? null : soloPriority();
      if (id !== undefined && only !== null) {
        const { updated } = await boss.update(queue, undefined, {
          id,
          priority: only,
          db: overTransaction(within),
        });
        if (updated === 0) return null;
      }
      const [job] = await boss.fetch<JobData>(queue, {
        db: overTransaction(within, withQuickHeads),
        includeMetadata: true,
        ...(notGroups.length > 0 && { ignoreGroups: [...notGroups] }),
        ...(lightOnly && { minPriority: LIGHT, maxPriority: LIGHT }),
        ...(only !== null && { minPriority: only, maxPriority: only }),
      });
      return job === undefined ? null : toFetched(queue, job);
    },
    async complete(within, { id, queue, fence }) {
      return endedOwnAttempt(
        await boss.complete(queue, { id, retryCount: fence }, null, { db: overTransaction(within) }),
      );
    },
    async release(within, { id, queue, fence }) {
      await ready(queue);
      return endedOwnAttempt(
        await boss.fail(queue, { id, retryCount: fence }, null, { db: overTransaction(within) }),
      );
    },
    listen: (callback) => listenForWork(connectionString, CHANNEL, callback),
    notify: async (within, queue) => void (await sql`select pg_notify(${CHANNEL}, ${queue})`.execute(within)),
    close: () => boss.stop({ graceful: false }),
  };
}

interface JobData {
  readonly ref: string;
}

function toJob({ id, key, group, ref, light }: NewWork) {
  return { id, singletonKey: key, group: { id: group }, priority: light ? LIGHT : 0, data: { ref } };
}

function toFetched(queue: string, job: JobWithMetadata<JobData>): FetchedWork {
  return {
    id: job.id,
    queue,
    key: job.singletonKey ?? "",
    group: job.groupId ?? "",
    ref: job.data.ref,
    light: job.priority === LIGHT,
    fence: job.retryCount,
  };
}

/** Whether the attempt was still the claimed one; the engine reports it, its types do not. */
function endedOwnAttempt(response: CommandResponse): boolean {
  return "affected" in response && response.affected === 1;
}

/** One statement instead of two. The engine takes no name of a queue that would have to be quoted. */
const andNotify = (queue: string) => (text: string) =>
  `with added as (${text}) select pg_notify('${CHANNEL}', '${queue}')`;

/** The engine gives no job by its id: a priority that no other has names it, and puts it first if it is given back. */
function soloPriority(): number {
  return LIGHT + 1 + Math.floor(Math.random() * 2 ** 30);
}

function overTransaction(within: StoreTransaction, change: (text: string) => string = (text) => text): Db {
  return {
    executeSql: async (text, values = []) => {
      const { rows } = await within.executeQuery(CompiledQuery.raw(change(text), [...values]));
      return { rows };
    },
  };
}
