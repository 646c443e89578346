import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { openSqlite } from "../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../src/infrastructure/store/postgres.ts";
import type { Database } from "../src/infrastructure/store/schema.ts";
import { inbound } from "../test/fakes/channel.ts";
import { replyOf } from "../test/fakes/conversation.ts";
import { newMessage, openMessages } from "../test/infrastructure/store/open-messages.ts";
import { startPostgres } from "../test/infrastructure/store/postgres-server.ts";
import type { Row } from "./measure.ts";
import { besideEngine } from "./queue-beside-engine.ts";

const MESSAGES = 200;
const CHATS = 50;
const MANY = 10_000;
const IDLE = 200;
const now = () => new Date();

/**
 * The queue alone, without a conversation: how soon an added message is claimed, what one costs from end to end, also
 * behind ten thousand others, and what our queue costs beside the engine alone.
 */
export async function queueAlone(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-bench-queue-"));
  const sqlite = openSqlite(join(folder, "store.db"));
  const server = startPostgres();
  const url = server.newDatabase();
  const postgres = openPostgres(url);
  try {
    return [
      ...(await over("SQLite", sqlite)),
      ...(await over("Postgres", postgres, url)),
      ...(await besideEngine(server)),
    ];
  } finally {
    await sqlite.destroy();
    await postgres.destroy();
    server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function over(name: string, db: Kysely<Database>, url?: string): Promise<Row[]> {
  const one = await openMessages({ db, databaseUrl: url, now, owner: "bench" });
  const other = await openMessages({ db, databaseUrl: url, now, owner: "bench other" });
  try {
    const idle = url === undefined ? [] : [await idleLatency(name, one, other)];
    await passThrough(one, "first");
    const before = await spent(db, url);
    const each = await passThrough(one, "alone");
    const after = await spent(db, url);
    await wait(one);
    const crowded = await passThrough(one, "crowded");
    const cost = {
      transactions: (after.transactions - before.transactions) / MESSAGES,
      wal: (after.wal - before.wal) / MESSAGES / 1024,
    };
    const row: Row = {
      name: `${name}: a message from arrival to sent reply, ${CHATS} chats, without a conversation; with ${MANY} waiting in ${MANY} chats`,
      figure: `${each.toFixed(1)} ms; ${crowded.toFixed(1)} ms`,
      target: "",
      ok: true,
    };
    if (url === undefined) return [row];
    return [
      ...idle,
      row,
      {
        name: `${name}: transactions and WAL of it`,
        figure: `${cost.transactions.toFixed(1)}, ${cost.wal.toFixed(1)} kB`,
        target: "≤ 12, ≤ 20 kB",
        ok: cost.transactions <= 12 && cost.wal <= 20,
      },
    ];
  } finally {
    await one.queue.close();
    await other.queue.close();
  }
}

type OpenedWorkspace = Awaited<ReturnType<typeof openMessages>>;

/** One process adds, another that listens claims. */
async function idleLatency(name: string, one: OpenedWorkspace, other: OpenedWorkspace): Promise<Row> {
  const times: number[] = [];
  for (let n = 0; n < IDLE; n += 1) {
    const claimed = Promise.withResolvers<number>();
    const stop = other.queue.onWork(async () => {
      const found = await other.store.claimMessage({});
      if (found === null) return;
      claimed.resolve(performance.now());
      await other.store.finish(found.work, { replies: [] });
    });
    await Bun.sleep(20);
    const began = performance.now();
    await one.store.addAll([newMessage(inbound(n, { channel: "idle" }), `msg_idle_${n}`, at())]);
    times.push((await claimed.promise) - began);
    stop();
  }
  times.sort((x, y) => x - y);
  const [half, worst] = [0.5, 0.99].map((share) => times[Math.floor(IDLE * share) - 1] as number) as [
    number,
    number,
  ];
  return {
    name: `${name}: idle, added in one process to claimed in another`,
    figure: `p50 ${half.toFixed(1)} ms, p99 ${worst.toFixed(1)} ms`,
    target: "p99 ≤ 25 ms",
    ok: worst <= 25,
  };
}

/** Returns the milliseconds that each took. What comes first in the queue is claimed, be it of these or one that waited. */
async function passThrough({ store }: OpenedWorkspace, channel: string): Promise<number> {
  const began = performance.now();
  for (let n = 0; n < MESSAGES; n += 1) {
    const message = inbound(n, { channel, chatId: `c${n % CHATS}` });
    await store.addAll([newMessage(message, `msg_${channel}_${n}`, at())]);
    const claimed = await store.claimMessage({});
    if (claimed === null) throw new Error("nothing to claim");
    const { channel: to, chatId, userId, id } = claimed.message;
    const content = { kind: "reply", reply: replyOf("re") } as const;
    const reply = { key: `k_${id}`, messageId: id, channel: to, chatId, userId, content };
    await store.finish(claimed.work, { replies: [{ ...reply, since: at(), at: at() }] });
    const sending = await store.claimReply();
    if (sending === null) throw new Error("nothing to send");
    await store.endReply(sending.work, { state: "sent", at: at(), reason: null });
  }
  return (performance.now() - began) / MESSAGES;
}

async function wait({ store }: OpenedWorkspace): Promise<void> {
  const one = (n: number) =>
    newMessage(inbound(n, { channel: "many", chatId: `m${n}` }), `msg_many_${n}`, at());
  for (let n = 0; n < MANY; n += 1_000)
    await store.addAll(Array.from({ length: 1_000 }, (_, k) => one(n + k)));
}

async function spent(db: Kysely<Database>, url: string | undefined) {
  if (url === undefined) return { transactions: 0, wal: 0 };
  await sql`select pg_stat_clear_snapshot()`.execute(db);
  await Bun.sleep(1_200);
  const { rows } = await sql<{ transactions: string; wal: string }>`
    select (select xact_commit + xact_rollback from pg_stat_database where datname = current_database()) as transactions,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal`.execute(db);
  return { transactions: Number(rows[0]?.transactions), wal: Number(rows[0]?.wal) };
}

const at = () => now().toISOString();
