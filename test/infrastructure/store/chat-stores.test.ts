import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import type { ChatTurns } from "../../../src/application/ports/chat.ts";
import { memoryMessagesFor } from "../../../src/domain/texts/chat.ts";
import { createRoutingStore } from "../../../src/infrastructure/chat/routing-store.ts";
import { createSessionStore } from "../../../src/infrastructure/chat/session-store.ts";
import { createJobIndex } from "../../../src/infrastructure/jobs/job-index.ts";
import { createUsageStore } from "../../../src/infrastructure/models/usage-store.ts";
import { type ChatTurnDeps, createChatTurns } from "../../../src/infrastructure/serve/chat-turns.ts";
import { openMigratedStore, openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import { type Database, migrate, migrationStatus } from "../../../src/infrastructure/store/schema.ts";
import { requirePart } from "../../require.ts";
import { describeChatTurns } from "./chat-turns.contract.ts";
import { describeImageStore } from "./image-store.contract.ts";
import { archiveOf, storedJob } from "./jobs-kit.ts";
import { openLentPair } from "./lent-kit.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";
import { describeRoutingAndUsage } from "./routing-and-usage.contract.ts";
import { describeSessionStore } from "./session-store.contract.ts";
import { describeTurnFence } from "./turn-fence.contract.ts";

const now = () => new Date("2026-03-01T12:00:00Z");
const TABLES = [
  "sessions",
  "turns",
  "daily_notes",
  "chat_settings",
  "decisions",
  "learned_rules",
  "usage_entries",
  "usage_sums",
  "images",
  "file_pieces",
  "work_claims",
] as const;

function openTurns(db: Kysely<Database>, process: string, more: Partial<ChatTurnDeps> = {}): ChatTurns {
  const newId = () => crypto.randomUUID();
  return createChatTurns({ db, workspace: "/ws", process, isGone: () => false, newId, ...more });
}

function describeStores(name: string, open: () => Promise<Kysely<Database>>): void {
  const ready = async () => {
    const db = await open();
    await migrate(db, now);
    for (const table of TABLES) await db.deleteFrom(table).execute();
    const damage = async (statement: string) => void (await sql.raw(statement).execute(db));
    return { db, damage };
  };
  describeSessionStore(name, async () => {
    const { db, damage } = await ready();
    return { store: createSessionStore({ db, now, workspace: "/ws" }), damage };
  });
  describeChatTurns(name, async () => {
    const { db } = await ready();
    return {
      open: (process, gone = []) => openTurns(db, process, { isGone: (other) => gone.includes(other) }),
      async silence(process, ms) {
        await sql`update work_claims set claimed_at = claimed_at - ${ms} where owner = ${process}`.execute(
          db,
        );
        await sql`update work_owners set beat_at = beat_at - ${ms} where owner = ${process}`.execute(db);
      },
      beats: async () =>
        (await db.selectFrom("work_owners").select("owner").execute()).map(({ owner }) => owner),
      claims: async () => (await db.selectFrom("work_claims").select("id").execute()).length,
    };
  });
  describeTurnFence(name, async () => (await ready()).db);
  describeImageStore(name, async () => (await ready()).db);
  describeRoutingAndUsage(name, async () => {
    const { db, damage } = await ready();
    return { routing: createRoutingStore({ db, workspace: "/ws" }), usage: createUsageStore(db), damage };
  });
  test(`${name} sums entries by quarter of an hour`, async () => {
    const { db } = await ready();
    const usage = createUsageStore(db);
    const rest = { sessionId: "s", groupId: "g", role: "chat", provider: "p", model: "m", local: true };
    const tokens = { inputTokens: 1, outputTokens: 2, cachedTokens: 0 };
    for (const [minute, costUsd] of [
      ["00", 1],
      ["14", null],
      ["15", 2],
      ["59", 4],
    ] as const)
      await usage.record({
        at: `2026-03-01T00:${minute}:59.999Z`,
        chatKey: "c",
        costUsd,
        ...rest,
        ...tokens,
      });
    const sums = await db.selectFrom("usage_sums").selectAll().orderBy("slice").execute();
    expect(
      sums.map(({ slice, calls, priced }) => [slice.slice(11, 16), Number(calls), Number(priced)]),
    ).toEqual([
      ["00:00", 2, 1],
      ["00:15", 1, 1],
      ["00:45", 1, 1],
    ]);
  });
}

describe("sqlite", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-chats-"));
  let opened: Kysely<Database> | undefined;
  afterEach(async () => {
    await opened?.destroy();
    opened = undefined;
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  describeStores("SQLite", async () => {
    opened = openSqlite(join(folder, "picoclaw.db"));
    return opened;
  });
  describeStores("SQLite, lent to another process", async () => {
    opened = openSqlite(join(folder, "lent.db"));
    return openLentPair(opened).lent;
  });
});

describe.if(requirePart("postgres"))("postgres", () => {
  let server: PostgresServer;
  let db: Kysely<Database>;
  beforeAll(() => {
    server = startPostgres();
    db = openPostgres(server.newDatabase());
  }, 300_000);
  afterAll(async () => {
    await db?.destroy();
    server?.stop();
  });
  describeStores("Postgres", async () => db);

  test("a machine whose clock is wrong holds a chat no longer than others, and takes it from no other", async () => {
    const on = (name: string, wrongMs: number) => {
      const now = () => new Date(Date.now() + wrongMs);
      const turns = openTurns(db, name, { workspace: "/skew", now });
      const claim = turns.name("c");
      const tries = { made: 0 };
      return async () => (tries.made++ === 0 ? { taken: await turns.begin(claim) } : turns.take(claim));
    };
    const [ahead, right, behind] = [on("ahead", 300_000), on("right", 0), on("behind", -300_000)];
    const pass = (ms: number) => sql`update work_claims set claimed_at = claimed_at - ${ms}`.execute(db);
    expect((await ahead()).taken).toBe(true);
    expect((await right()).taken).toBe(false);
    expect((await right()).taken).toBe(false);
    await pass(16_000);
    expect((await right()).taken).toBe(true);
    expect((await ahead()).taken).toBe(false);
    expect((await behind()).taken).toBe(false);
    await pass(16_000);
    expect((await behind()).taken).toBe(true);
  });

  test("several processes' worth of connections migrate an empty database once", async () => {
    const url = server.newDatabase();
    const all = Array.from({ length: 4 }, () => openPostgres(url));
    const done = await Promise.all(all.map((one) => migrate(one, now)));
    expect(done.filter((names) => names.length > 0)).toHaveLength(1);
    expect((await migrationStatus(all[0]!)).pending).toEqual([]);
    await Promise.all(all.map((one) => one.destroy()));
  });

  test("a database of an older version is refused with what to do", async () => {
    const url = server.newDatabase();
    const db = openPostgres(url);
    await migrate(db, now);
    await sql`update migrations set name = '016-chat-turns-breaking' where name = '201-tables'`.execute(db);
    await db.destroy();
    for (const options of [{ migrate: true }, { migrate: false }]) {
      const opened = await openMigratedStore({ home: "/nowhere", databaseUrl: url }, now, options);
      if (opened.ok) throw new Error("it was opened");
      expect(opened.trouble).toMatchObject({ kind: "postgres", why: "older" });
      const text = memoryMessagesFor("en").storeUnavailable(opened.trouble);
      expect(text).toContain("Name an empty database in database_url and run `picoclaw db migrate`");
    }
  });

  test("the index of jobs lives there as well", async () => {
    const db = openPostgres(server.newDatabase());
    const index = createJobIndex(db, now);
    const archive = archiveOf([storedJob(1, { groupId: "turn" }), storedJob(2, { groupId: "turn" })]);
    expect((await index.status()).jobs).toBe(0);
    expect(await index.sync(archive)).toEqual({ added: 2, updated: 0 });
    expect(await index.sync(archive)).toEqual({ added: 0, updated: 0 });
    expect((await index.jobs({ limit: 9 })).map(({ jobId }) => jobId)).toEqual([
      storedJob(2).jobId,
      storedJob(1).jobId,
    ]);
    expect(await index.jobs({ groupId: "turn", limit: 9 })).toHaveLength(2);
    expect(await db.selectFrom("events").selectAll().execute()).toHaveLength(2);
    expect((await index.status()).jobs).toBe(2);
    await index.close();
  });
});
