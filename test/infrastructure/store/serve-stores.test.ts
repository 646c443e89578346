import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import type { Claim, NewReply } from "../../../src/application/ports/message-store.ts";
import { createAccessStore } from "../../../src/infrastructure/store/access-store.ts";
import { createMessageStore } from "../../../src/infrastructure/store/message-store.ts";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { openSqlite } from "../../../src/infrastructure/store/sqlite.ts";
import { inbound } from "../../fakes/channel.ts";
import { replyOf } from "../../fakes/conversation.ts";
import { requirePart } from "../../require.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

const now = () => new Date("2026-03-01T12:00:00Z");
const at = (seconds: number) => new Date(now().getTime() + seconds * 1000).toISOString();
const claim = (owner: string, seconds = 0): Claim => ({
  owner,
  now: at(seconds),
  leaseUntil: at(seconds + 60),
});
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
function describeServeStores(name: string, open: () => Kysely<Database>): void {
  describe(`inbox, outbox and access in ${name}`, () => {
    const fresh = async (id: string) => {
      const key = { channel: `c-${id}`, chatId: "chat" };
      const store = await createMessageStore({ db: open(), now, workspace: "/ws" });
      const add = (n: number) =>
        store.add(inbound(n, { ...key, text: `text \0 ${n}` }), `msg_${id}_${n}`, at(0));
      return { store, key, add };
    };

    test("an event is stored once, however many bring it at the same time", async () => {
      const { store, key } = await fresh("dedupe");
      const tries = await Promise.all(
        Array.from({ length: 10 }, (_, n) => store.add(inbound(1, key), `msg_dedupe_${n}`, at(0))),
      );
      expect(tries.filter(({ added }) => added).length).toBe(1);
      expect(new Set(tries.map(({ id }) => id)).size).toBe(1);
      const all = await store.addAll(
        [1, 2, 2].map((n, i) => ({ message: inbound(n, key), id: `msg_d2_${i}`, at: at(0) })),
      );
      expect(all.map(({ added }) => added)).toEqual([false, true, false]);
    });

    test("a character that a database does not take is replaced, and its event is still one message", async () => {
      const { store } = await fresh("nul");
      const bad = inbound(1, { channel: "c-nul", chatId: "a\0b", userId: "u\ud800", eventId: "e\0" });
      const twice = [1, 2].map((n) => ({ message: bad, id: `msg_nul_${n}`, at: at(0) }));
      expect((await store.addAll(twice)).map(({ added }) => added)).toEqual([true, false]);
      expect(await store.message("msg_nul_1")).toMatchObject({ chatId: "a\ufffdb", userId: "u\ufffd" });
    });

    test("a chat's messages are claimed in order, one at a time, by one owner", async () => {
      const { store, key, add } = await fresh("order");
      for (const n of [1, 2, 3]) await add(n);
      const claims = await Promise.all(
        ["a", "b", "c", "d"].map((owner) => store.claimNext(key, claim(owner))),
      );
      const won = claims.filter((one) => one !== null);
      expect(won.map(({ id, attempts, state }) => [id, attempts, state])).toEqual([
        ["msg_order_1", 1, "working"],
      ]);
      const owner = ["a", "b", "c", "d"][claims.findIndex((one) => one !== null)] as string;
      expect(await store.finish("msg_order_1", "somebody else", [])).toBe(false);
      expect(await store.finish("msg_order_1", owner, [reply("k-order-1", "msg_order_1", key)])).toBe(true);
      expect((await store.claimNext(key, claim("z")))?.id).toBe("msg_order_2");
      expect((await store.waitingChats(at(0))).some(({ channel }) => channel === key.channel)).toBe(true);
    });

    test("a message may be claimed beside the one that is being answered, once", async () => {
      const { store, key, add } = await fresh("beside");
      for (const n of [1, 2]) await add(n);
      await store.claimNext(key, claim("a"));
      const claims = await Promise.all(
        ["b", "c"].map((owner) => store.claimBeside("msg_beside_2", claim(owner))),
      );
      const won = claims.filter((one) => one !== null);
      expect(won.map(({ id, attempts, state }) => [id, attempts, state])).toEqual([
        ["msg_beside_2", 1, "working"],
      ]);
      expect(await store.claimBeside("msg_beside_1", claim("b"))).toBeNull();
      expect(await store.claimNext(key, claim("d"))).toBeNull();
    });

    test("a lease that is over, or whose owner is dead, is anybody's", async () => {
      const { store, key, add } = await fresh("lease");
      await add(1);
      await store.claimNext(key, claim("dead"));
      expect(await store.claimNext(key, claim("b", 30))).toBeNull();
      await store.renew("dead", at(200));
      expect(await store.claimNext(key, claim("b", 100))).toBeNull();
      expect(await store.releaseDead((owner) => owner === "dead")).toBeGreaterThan(0);
      expect((await store.claimNext(key, claim("b", 100)))?.attempts).toBe(2);
      await store.handBack("msg_lease_1", "b", { begun: false });
      expect((await store.claimNext(key, claim("c", 100)))?.attempts).toBe(2);
    });

    test("replies are claimed in order and told from those that may have arrived", async () => {
      const { store, key, add } = await fresh("out");
      await add(1);
      await store.claimNext(key, claim("a"));
      await store.finish("msg_out_1", "a", [
        reply("k-out-1", "msg_out_1", key),
        reply("k-out-2", "msg_out_1", key),
      ]);
      const first = await store.claimReply(key, claim("a"));
      expect(first).toMatchObject({
        key: "k-out-1",
        attempt: 1,
        mayHaveArrived: false,
        replyTo: { token: "t" },
      });
      expect(await store.claimReply(key, claim("b"))).toHaveProperty("notBefore");
      await store.retryAt("k-out-1", at(10), "429");
      expect(await store.claimReply(key, claim("a", 5))).toEqual({ notBefore: at(10) });
      await store.claimReply(key, claim("dead", 10));
      await store.releaseDead((owner) => owner === "dead");
      expect(await store.claimReply(key, claim("a", 11))).toMatchObject({
        key: "k-out-1",
        mayHaveArrived: true,
      });
      await store.markSent("k-out-1", at(12));
      expect(await store.claimReply(key, claim("a", 13))).toMatchObject({ key: "k-out-2" });
      await store.giveUp("k-out-2", at(14), "blocked");
      expect(await store.claimReply(key, claim("a", 15))).toBeNull();
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
      await store.claimNext(key, claim("a"));
      await store.finish("msg_look_1", "a", [reply("k-look", "msg_look_1", key)]);
      expect(await store.usage({ fromDay: "2026-03-01", user })).toEqual([
        {
          day: "2026-03-01",
          provider: "p",
          model: "m",
          local: true,
          replies: 1,
          inputTokens: 3,
          outputTokens: 2,
          costUsd: 0.5,
        },
      ]);
      expect(await store.usage({ fromDay: "2026-03-02", user })).toEqual([]);
      expect((await store.chats({ channel: key.channel, limit: 5 })).map(({ messages }) => messages)).toEqual(
        [1],
      );
      await store.claimReply(key, claim("a"));
      await store.markSent("k-look", at(0));
      expect(await store.prune(at(60))).toBeGreaterThan(0);
      expect(await store.message("msg_look_1")).toBeNull();
    });

    test("what is to be used once is used once, and not when its time is over", async () => {
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
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-serve-store-"));
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
  beforeAll(() => {
    server = startPostgres();
    db = openPostgres(server.newDatabase());
  }, 60_000);
  afterAll(async () => {
    await db?.destroy();
    server?.stop();
  });
  describeServeStores("Postgres", () => db);
});
