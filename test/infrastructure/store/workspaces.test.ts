/** One store, several workspaces: what belongs to one is out of the others' sight. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import type { NewSession } from "../../../src/application/ports/chat.ts";
import type { ClaimedMessage } from "../../../src/application/ports/serve.ts";
import { createRoutingStore } from "../../../src/infrastructure/chat/routing-store.ts";
import { createSessionStore } from "../../../src/infrastructure/chat/session-store.ts";
import { createChatTurns } from "../../../src/infrastructure/serve/chat-turns.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import { type Database, migrate } from "../../../src/infrastructure/store/schema.ts";
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
    const opened = async () => {
      const db = empty();
      await migrate(db, now);
      const at = async (workspace: string) => ({
        messages: await messagesAt(db, workspace),
        sessions: createSessionStore({ db, now, workspace }),
        turns: createChatTurns({
          db,
          workspace,
          process: "process",
          isGone: () => false,
          newId: () => crypto.randomUUID(),
        }),
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

    test("an answer in one workspace blocks no other", async () => {
      const { db, a, b } = await opened();
      await a.messages.addAll([newMessage(inbound(1), "msg_1", NOW)]);
      await b.messages.addAll([newMessage(inbound(2), "msg_2", NOW)]);
      expect((await a.messages.claimMessage({}))?.message.id).toBe("msg_1");
      expect((await b.messages.claimMessage({}))?.message.id).toBe("msg_2");
      await db.destroy();
    });

    test("the same event is one message, though another workspace receives it again", async () => {
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
      expect(await b.sessions.settings(KEY)).toEqual({ dry: false, memory: {}, rewound: [], models: {} });
      expect(await b.sessions.notes(KEY, 9)).toEqual([]);
      expect(await b.sessions.due(new Date(LATER), 9)).toHaveLength(1);
      await db.destroy();
    });

    test("a chat that is worked on in one workspace is free in another, and cannot be stopped from there", async () => {
      const { db, a, b } = await opened();
      const inA = a.turns.name(KEY);
      expect(await a.turns.begin(inA)).toBe(true);
      expect(await b.turns.requestStop(KEY)).toBe(false);
      expect(await b.turns.begin(b.turns.name(KEY))).toBe(true);
      expect(await a.turns.look(inA)).toEqual({ held: true, stop: false });
      await db.destroy();
    });
  });
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
  }, 300_000);
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
