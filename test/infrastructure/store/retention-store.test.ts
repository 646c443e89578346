import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import { KEPT_KINDS, type KeptKind } from "../../../src/application/ports/serve.ts";
import { createRetentionStore } from "../../../src/infrastructure/serve/retention-store.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import { type Database, migrate } from "../../../src/infrastructure/store/schema.ts";
import { requirePart } from "../../require.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

const now = () => new Date("2026-03-01T12:00:00Z");
const day = (days: number) => new Date(now().getTime() - days * 24 * 3_600_000);
const OLD = day(40).toISOString();
const NEW = day(1).toISOString();
const MONTH = day(30);

/** Of everything an old one that has ended, a new one that has ended, and an old one that has not. */
async function fill(db: Kysely<Database>): Promise<void> {
  const session = { workspace: "/ws", chat_key: "web:a", channel: "web", chat_id: "a", cut_clock: "00:00" };
  const rest = { cut_at: OLD, carried: "", summary: "", summary_up_to: 0, turn_count: 1 };
  for (const [session_id, closed_at] of [
    ["old", OLD],
    ["new", NEW],
    ["open", null],
  ] as const) {
    await db
      .insertInto("sessions")
      .values({ ...session, ...rest, session_id, opened_at: OLD, closed_at })
      .execute();
    for (const name of [session_id, `${session_id}~1-2-0`])
      await db
        .insertInto("turns")
        .values({
          workspace: "/ws",
          chat_key: "web:a",
          session_id: name,
          position: 1,
          at: OLD,
          role: "user",
          agent: "",
          text: "hello",
          group_id: null,
        })
        .execute();
  }
  const used = { chat_key: "web:a", session_id: "s", group_id: "g", role: "chat", provider: "p", model: "m" };
  for (const at of [OLD, OLD, NEW])
    await db
      .insertInto("usage_entries")
      .values({ ...used, at, local: 1, input_tokens: 1, output_tokens: 1, cached_tokens: 0, cost_usd: 0 })
      .execute();
  const sums = { provider: "p", model: "m", calls: 1, input_tokens: 1, output_tokens: 1, cached_tokens: 0 };
  for (const slice of [day(41).toISOString(), OLD, NEW])
    await db
      .insertInto("usage_sums")
      .values({ ...sums, slice, cost_usd: 0, priced: 1 })
      .execute();
  for (const [id, state, last] of [
    ["ended", "done", OLD],
    ["resumed", "failed", NEW],
    ["paused", "paused", OLD],
  ] as const) {
    await db
      .insertInto("solve_tasks")
      .values({
        id,
        item: id,
        state,
        created_at: OLD,
        work_id: null,
        needs: "forge:github",
        ordered: null,
        body: "{}",
      })
      .execute();
    await db
      .insertInto("task_steps")
      .values({ task_id: id, position: 1, at: last, kind: "phase", body: "{}" })
      .execute();
  }
  for (const [id, seen_at] of [
    ["d-old", OLD],
    ["d-new", NEW],
  ] as const)
    await db.insertInto("forge_deliveries").values({ id, seen_at }).execute();
  const dead = { queue: "q", work_key: "k", owner_group: "g", ref: "r", light: 0, attempts: 4, reason: "x" };
  for (const [id, at] of [
    ["w-old", OLD],
    ["w-new", NEW],
  ] as const)
    await db
      .insertInto("dead_work")
      .values({ ...dead, id, at: Date.parse(at) })
      .execute();
}

async function fillMessages(db: Kysely<Database>, count: number, state: string, at: string): Promise<void> {
  const common = { workspace: "/ws", channel: "web", chat_id: "a", user_id: "a", work_id: null };
  for (let n = 0; n < count; n += 1) {
    const id = `${state}-${at}-${n}`;
    await db
      .insertInto("messages")
      .values({
        ...common,
        id,
        event_id: id,
        position: n,
        received_at: at,
        state,
        attempts: 1,
        finished_at: null,
        body: "{}",
      })
      .execute();
  }
}

async function names(db: Kysely<Database>) {
  const of = async (rows: Promise<Record<string, unknown>[]>) =>
    (await rows).map((row) => String(Object.values(row)[0])).sort();
  return {
    sessions: await of(db.selectFrom("sessions").select("session_id").execute()),
    turns: await of(db.selectFrom("turns").select("session_id").execute()),
    usage: await of(db.selectFrom("usage_entries").select("at").execute()),
    sums: await of(db.selectFrom("usage_sums").select("slice").execute()),
    tasks: await of(db.selectFrom("solve_tasks").select("id").execute()),
    steps: await of(db.selectFrom("task_steps").select("task_id").execute()),
    deliveries: await of(db.selectFrom("forge_deliveries").select("id").execute()),
    dead: await of(db.selectFrom("dead_work").select("id").execute()),
  };
}

function describeRetention(name: string, open: () => Kysely<Database>): void {
  describe(`retention in ${name}`, () => {
    test("only ended and old entries are removed, in batches, each kind for itself", async () => {
      const db = open();
      await migrate(db, now);
      const store = createRetentionStore(db, now);
      await fill(db);
      const all = await names(db);
      const forget = async (kind: KeptKind) => {
        let forgotten = 0;
        for (;;) {
          const some = await store.forget(kind, MONTH, 10);
          if (some === 0) return forgotten;
          forgotten += some;
        }
      };
      expect(await forget("usage")).toBe(2);
      expect(await names(db)).toEqual({ ...all, usage: [NEW], sums: [OLD, NEW] });
      expect(await forget("sessions")).toBe(1);
      expect(await forget("tasks")).toBe(2);
      expect(await forget("dead_letters")).toBe(1);
      expect(await names(db)).toEqual({
        sessions: ["new", "open"],
        turns: ["new", "new~1-2-0", "open", "open~1-2-0"],
        usage: [NEW],
        sums: [OLD, NEW],
        tasks: ["paused", "resumed"],
        steps: ["paused", "resumed"],
        deliveries: ["d-new"],
        dead: ["w-new"],
      });
      await fillMessages(db, 25, "done", OLD);
      await fillMessages(db, 1, "done", NEW);
      await fillMessages(db, 1, "received", OLD);
      expect(await store.forget("messages", MONTH, 10)).toBe(10);
      expect(await forget("messages")).toBe(15);
      const left = await db.selectFrom("messages").select("state").execute();
      expect(left.map(({ state }) => state).sort()).toEqual(["done", "received"]);
      for (const kind of KEPT_KINDS) expect(await forget(kind)).toBe(0);
    });

    test("of many processes one has the turn, and none again before its time", async () => {
      const db = open();
      await migrate(db, now);
      const stores = [1, 2, 3, 4].map(() => createRetentionStore(db, now));
      const turns = await Promise.all(stores.map((store) => store.takeTurn(3_600_000)));
      expect(turns.filter(Boolean)).toHaveLength(1);
      expect(await stores[0]?.takeTurn(3_600_000)).toBe(false);
      await db.updateTable("schedules").set({ next_at: 1 }).where("name", "=", "retention").execute();
      expect(await stores[1]?.takeTurn(3_600_000)).toBe(true);
    });
  });
}

const folder = mkdtempSync(join(tmpdir(), "picoclaw-retention-"));
const sqlite: { db?: Kysely<Database> } = {};
describeRetention("SQLite", () => {
  sqlite.db ??= openSqlite(join(folder, "picoclaw.db"));
  return sqlite.db;
});
afterAll(async () => {
  await sqlite.db?.destroy();
  rmSync(folder, { recursive: true, force: true });
});

describe.if(requirePart("postgres"))("with a server", () => {
  const held: { server?: PostgresServer; db?: Kysely<Database> } = {};
  beforeAll(async () => {
    held.server = startPostgres();
    held.db = await openPostgres(held.server.newDatabase());
  }, 300_000);
  afterAll(async () => {
    await held.db?.destroy();
    held.server?.stop();
  });
  describeRetention("Postgres", () => held.db as Kysely<Database>);
});
