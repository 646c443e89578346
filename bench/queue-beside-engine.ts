import { PgBoss } from "pg-boss";
import type { NewWork } from "../src/application/ports/serve.ts";
import { timers } from "../src/infrastructure/platform/timers.ts";
import { openWorkQueue } from "../src/infrastructure/serve/work-queue.ts";
import { openPostgres } from "../src/infrastructure/store/postgres.ts";
import { migrate } from "../src/infrastructure/store/schema.ts";
import type { PostgresServer } from "../test/infrastructure/store/postgres-server.ts";
import type { Row } from "./measure.ts";
import { postgresMs } from "./processor-time.ts";

const QUEUE = "bench";
const [ROUNDS, JOBS, CHATS, MANY] = [5, 60, 50, 10_000];

/** One job after the other is added, claimed and ended. */
interface Side {
  readonly url: string;
  addMany(count: number): Promise<void>;
  one(n: number): Promise<void>;
  close(): Promise<void>;
}

interface Cost {
  readonly wallMs: number;
  readonly processorMs: number;
}

/**
 * Our queue beside the engine it uses, in turns and the least of the rounds: first with nothing else waiting, then behind ten
 * thousand jobs of as many chats. Processor time is that of this process and of Postgres.
 */
export async function besideEngine(server: PostgresServer): Promise<Row[]> {
  const sides = { ours: await ours(server.newDatabase()), raw: await raw(server.newDatabase()) };
  const all = Object.values(sides);
  try {
    const alone = await inTurns(sides, 0);
    for (const side of all) await side.addMany(MANY);
    const crowded = await inTurns(sides, ROUNDS * JOBS);
    return [
      rowOf("a job added, claimed and ended / by pg-boss alone", alone),
      rowOf(`… with ${MANY} waiting in ${MANY} chats`, crowded),
    ];
  } finally {
    for (const side of all) await side.close();
  }
}

function rowOf(name: string, { ours, raw }: { readonly ours: Cost; readonly raw: Cost }): Row {
  const wall = ours.wallMs / raw.wallMs;
  const processor = ours.processorMs / raw.processorMs;
  return {
    name: `Postgres: ${name}`,
    figure: `${wall.toFixed(2)} (${ours.wallMs.toFixed(1)} / ${raw.wallMs.toFixed(1)} ms), processor time ${processor.toFixed(2)} (${ours.processorMs.toFixed(1)} / ${raw.processorMs.toFixed(1)} ms)`,
    target: "≤ 1.5",
    ok: wall <= 1.5,
  };
}

async function inTurns(sides: { readonly ours: Side; readonly raw: Side }, from: number) {
  const least = { ours: NONE, raw: NONE };
  for (let round = 0; round < ROUNDS; round += 1)
    for (const name of ["ours", "raw"] as const) {
      const spent = await costOf(sides[name], from + round * JOBS);
      least[name] = {
        wallMs: Math.min(least[name].wallMs, spent.wallMs),
        processorMs: Math.min(least[name].processorMs, spent.processorMs),
      };
    }
  return least;
}

const NONE: Cost = { wallMs: Number.POSITIVE_INFINITY, processorMs: Number.POSITIVE_INFINITY };

async function costOf(side: Side, from: number): Promise<Cost> {
  const before = { wall: performance.now(), own: process.cpuUsage(), database: postgresMs(side.url) };
  for (let n = from; n < from + JOBS; n += 1) await side.one(n);
  const wallMs = (performance.now() - before.wall) / JOBS;
  const { user, system } = process.cpuUsage(before.own);
  const database = postgresMs(side.url) - before.database;
  return { wallMs, processorMs: ((user + system) / 1_000 + database) / JOBS };
}

async function ours(url: string): Promise<Side> {
  const db = openPostgres(url);
  await migrate(db, timers.now);
  const { queue, newWorkId } = await openWorkQueue({
    db,
    databaseUrl: url,
    owner: "bench",
    isGone: () => false,
    timers: { now: timers.now, after: () => () => {} },
    onTrouble: () => {},
  });
  const work = (key: string, n: number): NewWork => ({
    id: newWorkId(),
    queue: QUEUE,
    key,
    group: key,
    ref: `msg_${n}`,
    light: false,
  });
  return {
    url,
    addMany: (count) => queue.add(Array.from({ length: count }, (_, n) => work(`many ${n}`, n))),
    async one(n) {
      await queue.add([work(`c${n % CHATS}`, n)]);
      const claimed = await queue.claim({ queue: QUEUE }, async () => null);
      if (claimed === null) throw new Error("nothing to claim");
      await queue.finish(claimed.work, {});
    },
    async close() {
      await queue.close();
      await db.destroy();
    },
  };
}

async function raw(url: string): Promise<Side> {
  const boss = new PgBoss({ connectionString: url, schedule: false, max: 2 });
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue(QUEUE, { policy: "key_strict_fifo" });
  const job = (key: string, n: number) => ({ singletonKey: key, data: { ref: `msg_${n}` } });
  return {
    url,
    addMany: async (count) =>
      void (await boss.insert(
        QUEUE,
        Array.from({ length: count }, (_, n) => job(`many ${n}`, n)),
      )),
    async one(n) {
      await boss.insert(QUEUE, [job(`c${n % CHATS}`, n)]);
      const [claimed] = await boss.fetch(QUEUE);
      if (claimed === undefined) throw new Error("nothing to claim");
      await boss.complete(QUEUE, claimed.id);
    },
    close: () => boss.stop({ graceful: false }),
  };
}
