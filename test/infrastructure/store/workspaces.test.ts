/** One store, several workspaces: what belongs to one is out of the others' sight, also after an upgrade. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import type { NewSession } from "../../../src/application/ports/chat.ts";
import type { ClaimedMessage } from "../../../src/application/ports/serve.ts";
import { createChatLeases } from "../../../src/infrastructure/chat/chat-leases.ts";
import { createRoutingStore } from "../../../src/infrastructure/chat/routing-store.ts";
import { createSessionStore } from "../../../src/infrastructure/chat/session-store.ts";
import { migrate } from "../../../src/infrastructure/store/migrate.ts";
import * as jobs from "../../../src/infrastructure/store/migrations/001-jobs.ts";
import * as chats from "../../../src/infrastructure/store/migrations/002-chats.ts";
import * as serve from "../../../src/infrastructure/store/migrations/004-serve.ts";
import * as solve from "../../../src/infrastructure/store/migrations/005-solve.ts";
import * as pushes from "../../../src/infrastructure/store/migrations/007-pushes.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { inbound } from "../../fakes/channel.ts";
import { replyOf } from "../../fakes/conversation.ts";
import { requirePart } from "../../require.ts";
import { newMessage, openMessages } from "./open-messages.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

const NOW = "2026-03-01T12:00:00.000Z";
const now = () => new Date(NOW);
const LATER = "2026-03-01T12:01:00.000Z";
const chat = { channel: "test", chatId: "chat-1" };
const KEY = "cli:default";
const session: NewSession = {
  chatKey: KEY,
  id: "20260301-cli-default",
  channel: "cli",
  chatId: "default",
  openedAt: NOW,
  cut: { at: LATER, clock: "UTC 00:00" },
  carried: "",
};
const turn = (text: string) => ({ at: NOW, role: "user", text, agent: "", groupId: null }) as const;
const reply = (key: string, messageId: string) => ({
  key,
  messageId,
  ...chat,
  userId: "user-1",
  content: { kind: "reply", reply: replyOf("re") } as const,
  since: NOW,
  at: NOW,
});

function describeWorkspaces(
  name: string,
  empty: () => Kysely<Database>,
  urlOf: (db: Kysely<Database>) => string | undefined,
): void {
  const closing: (() => Promise<void>)[] = [];
  const messagesAt = async (db: Kysely<Database>, workspace: string) => {
    const owner = `host:1 ${workspace}`;
    const { store, queue } = await openMessages({ db, databaseUrl: urlOf(db), now, workspace, owner });
    closing.push(() => queue.close().catch(() => {}));
    return store;
  };
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  describe(`workspaces in ${name}:`, () => {
    const opened = async (db = empty()) => {
      await migrate(db, now);
      const at = async (workspace: string) => ({
        messages: await messagesAt(db, workspace),
        sessions: createSessionStore({ db, now, workspace }),
        leases: createChatLeases({ db, workspace, process: "process", isGone: () => false }),
        routing: createRoutingStore({ db, workspace }),
      });
      return { db, a: await at("/a"), b: await at("/b") };
    };

    test("a message is claimed, shown and counted in its own workspace only, and waits for it", async () => {
      const { db, a, b } = await opened();
      await a.messages.addAll([newMessage(inbound(1), "msg_1", NOW)]);
      expect(await b.messages.claimMessage({})).toBeNull();
      expect(await b.messages.message("msg_1")).toBeNull();
      expect(await b.messages.transcript({ ...chat, limit: 9 })).toEqual([]);
      expect(await b.messages.chats({ limit: 9 })).toEqual([]);
      expect((await b.messages.counts()).received).toBe(0);
      const { message } = (await a.messages.claimMessage({})) as ClaimedMessage;
      expect(message).toMatchObject({ id: "msg_1", workspace: "/a" });
      await db.destroy();
    });

    test("what is being answered in one workspace holds up no other", async () => {
      const { db, a, b } = await opened();
      await a.messages.addAll([newMessage(inbound(1), "msg_1", NOW)]);
      await b.messages.addAll([newMessage(inbound(2), "msg_2", NOW)]);
      expect((await a.messages.claimMessage({}))?.message.id).toBe("msg_1");
      expect((await b.messages.claimMessage({}))?.message.id).toBe("msg_2");
      await db.destroy();
    });

    test("the same event is one message, wherever it comes a second time", async () => {
      const { db, a, b } = await opened();
      await a.messages.addAll([newMessage(inbound(1), "msg_1", NOW)]);
      const [again] = await b.messages.addAll([newMessage(inbound(1), "msg_2", NOW)]);
      expect(again).toEqual({ added: false, id: "msg_1" });
      await db.destroy();
    });

    test("a reply is sent from its own workspace", async () => {
      const { db, a, b } = await opened();
      await a.messages.addAll([newMessage(inbound(1), "msg_1", NOW)]);
      const { work } = (await a.messages.claimMessage({})) as ClaimedMessage;
      await a.messages.finish(work, { replies: [reply("k1", "msg_1")] });
      expect(await b.messages.claimReply()).toBeNull();
      expect((await a.messages.claimReply())?.reply).toMatchObject({ key: "k1", messageId: "msg_1" });
      await db.destroy();
    });

    test("one chat has a history in each workspace, under the same public names", async () => {
      const { db, a, b } = await opened();
      expect(await a.sessions.open(session, null)).toBe("opened");
      expect(await b.sessions.open(session, null)).toBe("opened");
      await a.sessions.append(KEY, session.id, [turn("said in a")]);
      await b.sessions.append(KEY, session.id, [turn("said in b"), turn("and more")]);
      await a.sessions.saveSettings(KEY, { dry: true });
      await a.sessions.saveNote({ chatKey: KEY, sessionId: session.id, text: "a", turns: 1, savedAt: NOW });
      const texts = async ({ sessions }: typeof a) =>
        (await sessions.turns(KEY, session.id, { after: 0, limit: 9 })).turns.map(({ text }) => text);
      expect([await texts(a), await texts(b)]).toEqual([["said in a"], ["said in b", "and more"]]);
      expect((await b.sessions.current(KEY)).session).toMatchObject({
        chatKey: KEY,
        id: session.id,
        turns: 2,
      });
      expect(await b.sessions.settings(KEY)).toEqual({ dry: false, memory: {}, rewound: [] });
      expect(await b.sessions.notes(KEY, 9)).toEqual([]);
      expect(await b.sessions.due(new Date(LATER), 9)).toHaveLength(1);
      await db.destroy();
    });

    test("a chat that is worked on in one workspace is free in another, and cannot be stopped from there", async () => {
      const { db, a, b } = await opened();
      const take = async ({ leases }: typeof a, owner: string) => {
        const ticket = await leases.enter(KEY, owner);
        return leases.take({ chatKey: KEY, owner, ticket });
      };
      expect(await take(a, "one")).toEqual({ taken: true, ahead: 0 });
      expect(await b.leases.requestStop(KEY)).toBe(false);
      expect(await take(b, "two")).toEqual({ taken: true, ahead: 0 });
      expect(await a.leases.look(KEY, "one")).toEqual({ held: true, stop: false });
      await db.destroy();
    });

    test("after an upgrade, a message that waited is for whoever comes first to refuse; a chat's history goes where it goes on", async () => {
      const db = empty();
      await fillOld(db);
      const { a, b } = await opened(db);
      expect(await b.messages.claimMessage({})).toBeNull();
      const { message: old } = (await a.messages.claimMessage({})) as ClaimedMessage;
      expect(old).toMatchObject({ id: "msg_old", workspace: "" });
      expect((await a.messages.transcript({ ...chat, limit: 9 })).map(({ message }) => message.id)).toEqual([
        "msg_old",
      ]);
      expect((await a.sessions.current(KEY)).session).toMatchObject({ id: session.id, turns: 1 });
      expect((await a.sessions.turns(KEY, session.id, { after: 0, limit: 9 })).turns[0]?.text).toBe("before");
      expect(await a.sessions.settings(KEY)).toEqual({ dry: true, memory: {}, rewound: [] });
      expect((await a.sessions.notes(KEY, 9)).map(({ text }) => text)).toEqual(["a note"]);
      expect((await b.sessions.current(KEY)).session).toBeNull();
      expect(await b.sessions.notes(KEY, 9)).toEqual([]);
      await db.destroy();
    });
  });
}

/** A store as the version before had it, with a chat and a message that waits. */
async function fillOld(db: Kysely<Database>): Promise<void> {
  const old = {
    "001-jobs": jobs,
    "002-chats": chats,
    "004-serve": serve,
    "005-solve": solve,
    "007-pushes": pushes,
  };
  await sql`create table migrations (name text primary key, applied_at text not null)`.execute(db);
  for (const [name, { up }] of Object.entries(old)) {
    await up(db as unknown as Kysely<unknown>);
    await sql`insert into migrations values (${name}, ${NOW})`.execute(db);
  }
  await sql`insert into sessions values (${KEY}, ${session.id}, 'cli', 'default', ${NOW}, null, ${LATER}, 'UTC 00:00', '', '', 0, 1)`.execute(
    db,
  );
  await sql`insert into turns values (${KEY}, ${session.id}, 1, ${NOW}, 'user', '', 'before', null)`.execute(
    db,
  );
  await sql`insert into daily_notes values (${KEY}, ${session.id}, 'a note', 1, ${NOW})`.execute(db);
  await sql`insert into chat_settings values (${KEY}, '{"dry": true}')`.execute(db);
  await sql`insert into messages values ('msg_old', 'test', 'event-0', 'chat-1', 'user-1', 1, ${NOW}, 'received', 0, null, null, null, '{"text": "old"}')`.execute(
    db,
  );
}

describe("sqlite", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-workspaces-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  describeWorkspaces(
    "SQLite",
    () => openSqlite(join(folder, `${crypto.randomUUID()}.db`)),
    () => undefined,
  );
});

describe.if(requirePart("postgres"))("postgres", () => {
  let server: PostgresServer;
  beforeAll(() => {
    server = startPostgres();
  }, 60_000);
  afterAll(() => server?.stop());
  const urls = new Map<Kysely<Database>, string>();
  const empty = () => {
    const url = server.newDatabase();
    const db = openPostgres(url);
    urls.set(db, url);
    return db;
  };
  describeWorkspaces("Postgres", empty, (db) => urls.get(db));
});
