import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Kysely } from "kysely";
import type { ClaimedMessage, NewMessage, NewReply, Work } from "../../../src/application/ports/serve.ts";
import { createAccessStore } from "../../../src/infrastructure/serve/access-store.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { inbound } from "../../fakes/channel.ts";
import { replyOf } from "../../fakes/conversation.ts";
import { makeTestFolder } from "../../left-behind.ts";
import { requirePart } from "../../require.ts";
import { newMessage, openMessages } from "./open-messages.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

const now = () => new Date("2026-03-01T12:00:00Z");
const at = (seconds: number) => new Date(now().getTime() + seconds * 1000).toISOString();
const chat = { channel: "test", chatId: "chat-1" };

function reply(key: string, messageId: string | null, more: Partial<NewReply> = {}): NewReply {
  const model = { provider: "p", model: "m", local: true };
  const usage = { inputTokens: 3, outputTokens: 2, costUsd: 0.5 };
  return {
    key,
    messageId,
    ...chat,
    userId: "user-1",
    content: { kind: "reply", reply: replyOf(`re ${key}`, { model, usage }) },
    replyTo: { token: "t" },
    since: at(0),
    at: at(0),
    day: "2026-03-01",
    ...more,
  };
}

/** Each test has chats of its own, since the database is shared. */
function describeServeStores(
  name: string,
  open: () => Kysely<Database>,
  url: () => string | undefined = () => undefined,
): void {
  describe(`inbox, outbox and access in ${name}`, () => {
    const closing: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const close of closing.splice(0)) await close();
    });
    const fresh = async (id: string) => {
      const key = { channel: `c-${id}`, chatId: "chat" };
      const clock = { seconds: 0 };
      const process = async (owner: string) => {
        const opened = await openMessages({
          db: open(),
          databaseUrl: url(),
          now: () => new Date(at(clock.seconds)),
          workspace: `/ws/${id}`,
          owner: `${id} ${owner}`,
          isGone: (other) => other === `${id} dead`,
        });
        closing.push(opened.queue.close);
        return opened;
      };
      const { store, queue } = await process("a");
      const add = (n: number, more: Partial<NewMessage> = {}) => {
        const message = inbound(n, { ...key, text: `text \0 ${n}` });
        return store.addAll([{ ...newMessage(message, `msg_${id}_${n}`, at(0)), ...more }]);
      };
      return { store, queue, key, add, clock, process };
    };

    test("an event is stored once, however many bring it at the same time", async () => {
      const { store, key } = await fresh("dedupe");
      const tries = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          store.addAll([newMessage(inbound(1, key), `msg_dedupe_${n}`, at(0))]),
        ),
      );
      expect(tries.flat().filter(({ added }) => added).length).toBe(1);
      expect(new Set(tries.flat().map(({ id }) => id)).size).toBe(1);
      const all = await store.addAll(
        [1, 2, 2].map((n, i) => newMessage(inbound(n, key), `msg_d2_${i}`, at(0))),
      );
      expect(all.map(({ added }) => added)).toEqual([false, true, false]);
    });

    test("of a chat the unanswered messages stand, and its newest; of others nothing", async () => {
      const { store, key, add } = await fresh("standing");
      const { channel, chatId } = inbound(1, key);
      const standing = async () =>
        (await store.standing([{ channel, chatId }])).map(({ id, state }) => `${id.at(-1)} ${state}`).sort();
      expect(await store.standing([])).toEqual([]);
      expect(await standing()).toEqual([]);
      for (const n of [1, 2, 3]) await add(n);
      const claimed = await store.claimMessage({});
      expect(await standing()).toEqual(["1 working", "2 received", "3 received"]);
      expect(await store.standing([{ channel, chatId: "another" }])).toEqual([]);
      await store.finish(claimed?.work as Work, { replies: [] });
      expect(await standing()).toEqual(["2 received", "3 received"]);
      for (const _ of [2, 3])
        await store.finish((await store.claimMessage({}))?.work as Work, { replies: [] });
      expect(await standing()).toEqual(["3 done"]);
    });

    test("a character that a database does not take is replaced, and its event is still one message", async () => {
      const { store } = await fresh("nul");
      const bad = inbound(1, { channel: "c-nul", chatId: "a\0b", userId: "u\ud800", eventId: "e\0" });
      const twice = [1, 2].map((n) => newMessage(bad, `msg_nul_${n}`, at(0)));
      expect((await store.addAll(twice)).map(({ added }) => added)).toEqual([true, false]);
      expect(await store.message("msg_nul_1")).toMatchObject({ chatId: "a\ufffdb", userId: "u\ufffd" });
    });

    test("a chat's messages are claimed in order, one at a time, by one process", async () => {
      const { store, key, add, process } = await fresh("order");
      for (const n of [1, 2, 3]) await add(n);
      const others = await Promise.all(["b", "c", "d"].map((owner) => process(owner)));
      const stores = [store, ...others.map((other) => other.store)];
      const claims = await Promise.all(stores.map((one) => one.claimMessage({})));
      const won = claims.filter((one) => one !== null);
      expect(won.map(({ message: { id, attempts, state } }) => [id, attempts, state])).toEqual([
        ["msg_order_1", 1, "working"],
      ]);
      const { work } = won[0] as ClaimedMessage;
      const late = { ...work, fence: work.fence + 1 };
      expect(await store.finish(late, { replies: [] })).toBe("lost");
      expect(await store.finish(work, { replies: [reply("k-order-1", "msg_order_1", key)] })).toBe("done");
      expect((await store.message("msg_order_1"))?.state).toBe("done");
      expect((await store.claimMessage({}))?.message.id).toBe("msg_order_2");
    });

    test("a message may be claimed beside the one that is being answered, once", async () => {
      const { store, add } = await fresh("beside");
      await add(1);
      await store.claimMessage({});
      await add(2);
      await add(3, { beside: true });
      const claims = await Promise.all([store.claimMessage({}), store.claimMessage({})]);
      expect(claims.flatMap((one) => one?.message.id ?? [])).toEqual(["msg_beside_3"]);
    });

    test("the answer of a dead process passes to another; one that is given back has not been tried", async () => {
      const { store, queue, add, process } = await fresh("lease");
      await add(1);
      const dead = await process("dead");
      expect((await dead.store.claimMessage({}))?.message.attempts).toBe(1);
      expect(await store.claimMessage({})).toBeNull();
      await queue.beat();
      const { work, message } = (await store.claimMessage({})) as ClaimedMessage;
      expect(message.attempts).toBe(2);
      await store.handBack(work, { begun: false });
      expect((await store.message("msg_lease_1"))?.state).toBe("received");
      expect((await store.claimMessage({}))?.message.attempts).toBe(2);
    });

    test("replies are claimed in order and distinguished from those that may have arrived", async () => {
      const { store, queue, key, add, clock, process } = await fresh("out");
      await add(1);
      const { work } = (await store.claimMessage({})) as ClaimedMessage;
      const two = [reply("k-out-1", "msg_out_1", key), reply("k-out-2", "msg_out_1", key)];
      await store.finish(work, { replies: two });
      const first = await store.claimReply();
      expect(first?.reply).toMatchObject({
        key: "k-out-1",
        attempt: 1,
        mayHaveArrived: false,
        replyTo: { token: "t" },
      });
      expect(await store.claimReply()).toBeNull();
      await store.restReply("k-out-1", at(10), "429");
      await store.handBackReply(first?.work as Work);
      const dead = await process("dead");
      expect((await dead.store.claimReply())?.reply).toMatchObject({
        key: "k-out-1",
        attempt: 2,
        mayHaveArrived: false,
        restsUntil: at(10),
      });
      clock.seconds = 10;
      await dead.store.resendReply("k-out-1");
      await queue.beat();
      const again = await store.claimReply();
      expect(again?.reply).toMatchObject({ key: "k-out-1", mayHaveArrived: true, restsUntil: null });
      await store.endReply(again?.work as Work, { state: "sent", at: at(12), reason: null });
      const next = await store.claimReply();
      expect(next?.reply).toMatchObject({ key: "k-out-2" });
      await store.endReply(next?.work as Work, { state: "failed", at: at(14), reason: "blocked" });
      expect(await store.claimReply()).toBeNull();
      const [exchange] = await store.transcript({ ...key, limit: 5 });
      expect(exchange?.message.text).toBe("text \0 1");
      expect(exchange?.replies.map(({ state }) => state)).toEqual(["sent", "failed"]);
    });

    test("who caused which job, what it cost, and old things are looked up", async () => {
      const { store, key, add } = await fresh("look");
      await add(1);
      const user = { channel: key.channel, userId: "user-1" };
      await store.noteJob({ jobId: `job_1_${name.length}`, ...user, messageId: "msg_look_1", at: at(0) });
      await store.noteJob({
        jobId: `job_1_${name.length}`,
        channel: "x",
        userId: "thief",
        messageId: null,
        at: at(1),
      });
      expect(await store.jobIdsOf(user, 5)).toEqual([`job_1_${name.length}`]);
      expect((await store.ownerOf(`job_1_${name.length}`))?.userId).toBe("user-1");
      expect(await store.jobsOf("msg_look_1")).toEqual([`job_1_${name.length}`]);
      const { work } = (await store.claimMessage({})) as ClaimedMessage;
      await store.finish(work, { replies: [reply("k-look", "msg_look_1", key)] });
      expect((await store.chats({ channel: key.channel, limit: 5 })).map(({ messages }) => messages)).toEqual(
        [1],
      );
    });

    test("an unrequested message is kept with the message that it followed", async () => {
      const { store, key, add } = await fresh("notices");
      const post = (text: string) =>
        store.post({
          ...key,
          key: crypto.randomUUID(),
          messageId: null,
          userId: "user-1",
          content: { kind: "notice", text },
          since: at(0),
          at: at(0),
        });
      await add(1);
      await post("after one");
      await add(2);
      await post("after two");
      const shown = async (filter: { before?: string } = {}) =>
        (await store.transcript({ ...key, limit: 5, ...filter })).map(({ message, replies }) => [
          message.id,
          ...replies.map(({ content }) => (content.kind === "notice" ? content.text : "?")),
        ]);
      expect(await shown()).toEqual([
        ["msg_notices_1", "after one"],
        ["msg_notices_2", "after two"],
      ]);
      expect(await shown({ before: "msg_notices_2" })).toEqual([["msg_notices_1", "after one"]]);
    });

    test("open sessions are listed, newest first, without those whose time is over", async () => {
      const access = await createAccessStore(open(), now);
      const session = { userId: `s-${name}`, role: "user" as const, csrf: "c" };
      for (const [n, expires] of [
        [1, 60],
        [2, 60],
        [3, -1],
      ] as const)
        await access.saveSession({
          ...session,
          hash: `s${n}-${name}`,
          createdAt: at(n),
          expiresAt: at(expires),
        });
      const listed = async () =>
        (await access.sessions(at(0)))
          .filter(({ userId }) => userId === session.userId)
          .map(({ hash }) => hash);
      expect(await listed()).toEqual([`s2-${name}`, `s1-${name}`]);
      await access.removeSession(`s2-${name}`);
      expect(await listed()).toEqual([`s1-${name}`]);
    });

    test("a single-use token is used once, and not when its time is over", async () => {
      const access = await createAccessStore(open(), now);
      const link = { hash: `h-${name}`, userId: "u", role: "user" as const, expiresAt: at(60) };
      await access.saveLink(link);
      const tries = await Promise.all(Array.from({ length: 5 }, () => access.takeLink(link.hash, at(0))));
      expect(tries.filter((one) => one !== null)).toEqual([link]);
      await access.saveLink({ ...link, expiresAt: at(-1) });
      expect(await access.takeLink(link.hash, at(0))).toBeNull();
      const pairing = {
        code: `P-${name}`,
        channel: "line",
        userId: "U1",
        chatId: "U1",
        name: "",
        expiresAt: at(60),
      };
      await access.savePairing(pairing);
      await access.savePairing({ ...pairing, code: `Q-${name}` });
      expect((await access.pairings(at(0))).map(({ code }) => code)).toEqual([`Q-${name}`]);
      expect((await access.pairingOf("line", "U1", at(0)))?.code).toBe(`Q-${name}`);
      for (const [channel, userId, when] of [
        ["slack", "U1", at(0)],
        ["line", "U2", at(0)],
        ["line", "U1", at(61)],
      ] as const)
        expect(await access.pairingOf(channel, userId, when)).toBeNull();
      expect((await access.takePairing(`Q-${name}`, at(0)))?.userId).toBe("U1");
      const person = { channel: "line", userId: "U1", name: "A", role: "user" as const, addedAt: at(0) };
      await access.savePerson(person);
      await access.savePerson({ ...person, role: "operator" });
      expect((await access.person("line", "U1"))?.role).toBe("operator");
      expect([await access.removePerson("line", "U1"), await access.removePerson("line", "U1")]).toEqual([
        true,
        false,
      ]);
    });
  });
}

describe("sqlite", () => {
  const folder = makeTestFolder("serve-store");
  const db = openSqlite(join(folder, "picoclaw.db"));
  afterAll(async () => {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  describeServeStores("SQLite", () => db);
});

describe.if(requirePart("postgres"))("postgres", () => {
  let server: PostgresServer;
  let db: Kysely<Database>;
  let url: string;
  beforeAll(() => {
    server = startPostgres();
    url = server.newDatabase();
    db = openPostgres(url);
  }, 300_000);
  afterAll(async () => {
    await db?.destroy();
    server?.stop();
  });
  describeServeStores(
    "Postgres",
    () => db,
    () => url,
  );
});
