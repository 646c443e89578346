/** A paired person finds their one-to-one chats of every channel in the console, and goes on there. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import type { InboundMessage } from "../../../src/application/ports/serve.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { createServeBench } from "../../application/serve/serve-kit.ts";
import { createFakeChannel, inbound } from "../../fakes/channel.ts";
import { settle } from "../../fakes/timers.ts";
import { newMessage, openMessages } from "../../infrastructure/store/open-messages.ts";
import { createPages } from "./pages-kit.ts";

let folder = "";
let db: Kysely<Database>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-own-chats-"));
  db = openSqlite(join(folder, "store.db"));
});
afterEach(async () => {
  await db.destroy();
  rmSync(folder, { recursive: true, force: true });
});

const SAID: readonly (readonly [channel: string, chatId: string, userId: string])[] = [
  ["line", "U1", "U1"],
  ["line", "C-group", "U1"],
  ["slack", "D77", "S1"],
  ["slack", "C5:12.3", "S1"],
  ["telegram", "4711", "4711"],
  ["telegram", "-1004711", "4711"],
  ["line", "U2", "U2"],
];

async function open(userId: string) {
  const { store } = await openMessages({ db, now: () => new Date() });
  const received: InboundMessage[] = [];
  const pages = await createPages(
    db,
    store,
    async (message) => {
      received.push(message);
      return { status: "accepted", messageId: "m" };
    },
    {},
    { userId, role: "user" },
  );
  for (const [channel, who, name] of [
    ["line", "U1", "mei"],
    ["slack", "S1", "mei"],
    ["telegram", "4711", "mei"],
    ["line", "U2", "ken"],
  ] as const)
    await pages.access.savePerson({
      channel,
      userId: who,
      name,
      role: "user",
      addedAt: new Date().toISOString(),
    });
  for (const [n, [channel, chatId, user]] of SAID.entries())
    await store.addAll([
      newMessage(
        { channel, chatId, userId: user, eventId: `e${n}`, text: `said ${n}` },
        `msg_1_aaaaaaa${n}`,
        new Date().toISOString(),
      ),
    ]);
  return { ...pages, received };
}

test("their own chats are listed and read; groups, and chats of others, do not exist for them", async () => {
  const { ask } = await open("mei");
  const page = await (await ask("/sessions")).text();
  const links = [...page.matchAll(/href="\/sessions\/([^"]+)"/g)].map(([, path]) => path);
  expect(links.sort()).toEqual(["line/U1", "slack/D77", "telegram/4711"]);
  expect((await ask("/sessions/line/U1")).status).toBe(200);
  for (const path of ["line/C-group", "slack/C5%3A12.3", "telegram/-1004711", "line/U2", "line/U9"])
    expect([path, (await ask(`/sessions/${path}`)).status]).toEqual([path, 404]);
});

test("they go on in it under its own key, and nowhere else", async () => {
  const { ask, csrf, received } = await open("mei");
  const say = async (path: string) => {
    const body = new URLSearchParams({ csrf, event: "1", text: "and now?" });
    return ask(`/sessions/${path}`, { method: "POST", body });
  };
  const sent = await say("line/U1");
  expect([sent.status, sent.headers.get("location")]).toEqual([303, "/sessions/line/U1"]);
  expect(received).toEqual([
    {
      channel: "line",
      chatId: "U1",
      userId: "U1",
      eventId: "mei:1",
      text: "and now?",
      replyTo: { via: "web" },
    },
  ]);
  expect((await say("line/C-group")).status).toBe(404);
  expect((await say("line/U2")).status).toBe(404);
  expect(received).toHaveLength(1);
});

test("a person whom no operator named so has the console's chats only", async () => {
  const { ask } = await open("eve");
  expect((await (await ask("/sessions")).text()).includes("/sessions/line")).toBe(false);
});

test("a message of the console is answered there, not on the service", async () => {
  const [service, web] = [createFakeChannel(), createFakeChannel("web")];
  const bench = await createServeBench({ fake: service, others: [web.channel] });
  await bench.receive(inbound(1, { replyTo: { via: "web" } }));
  await bench.receive(inbound(2));
  await settle();
  expect(web.shown.map(({ text }) => text)).toEqual(["re: text 1"]);
  expect(service.shown.map(({ text }) => text)).toEqual(["re: text 2"]);
  await bench.close();
});
