/** Answers of megabytes: a page shows their beginning and links to the rest, without blocking other requests. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import { toBlocks } from "../../../src/adapters/channels/slack-channel.ts";
import { WINDOW_CHARACTERS } from "../../../src/adapters/web/markdown.ts";
import { say } from "../../../src/application/chat/reply-words.ts";
import type { Reply } from "../../../src/application/ports/chat.ts";
import { channelMessagesFor } from "../../../src/domain/texts/channels.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { newMessage, openMessages } from "../../infrastructure/store/open-messages.ts";
import { createPages } from "./pages-kit.ts";

let folder = "";
let db: Kysely<Database>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-long-answers-"));
  db = openSqlite(join(folder, "store.db"));
});
afterEach(async () => {
  await db.destroy();
  rmSync(folder, { recursive: true, force: true });
});

const LINE = "Some **words** with `code`, a [link](https://example.org/x) and _more_ of them.\n\n";
const answer = (characters: number) => `begins\n\n${LINE.repeat(Math.ceil(characters / LINE.length))}ends`;

async function open(answers: readonly string[], more: Partial<Reply> = {}) {
  const { store } = await openMessages({ db, now: () => new Date() });
  const at = new Date().toISOString();
  for (const [n, text] of answers.entries()) {
    const id = `msg_1_aaaaaaa${n}`;
    const said = {
      channel: "web",
      chatId: "operator",
      userId: "operator",
      eventId: `e${n}`,
      text: `ask ${n}`,
    };
    await store.addAll([newMessage(said, id, at)]);
    const reply = { text, ok: true, sessionId: "s", jobs: [], actions: [], ...more };
    await db
      .insertInto("replies")
      .values({
        key: `reply-${n}`,
        message_id: id,
        workspace: "/ws",
        channel: "web",
        chat_id: "operator",
        user_id: "operator",
        position: n + 1,
        created_at: at,
        since: at,
        state: "sent",
        attempts: 1,
        next_at: at,
        content: JSON.stringify({ kind: "reply", reply }),
      } as never)
      .execute();
  }
  return createPages(db, store, async () => ({ status: "accepted", messageId: "m" }));
}

/** The longest that others of the process waited for their turn, in milliseconds of processor time. */
async function longestWait<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly done: T }> {
  const state = { last: cpuTimeMs(), ms: 0, over: false };
  const turn = () => {
    const now = cpuTimeMs();
    state.ms = Math.max(state.ms, now - state.last);
    state.last = now;
    if (!state.over) setImmediate(turn);
  };
  setImmediate(turn);
  const done = await work();
  state.over = true;
  return { ms: Math.max(state.ms, cpuTimeMs() - state.last), done };
}

test("a page of six answers of 3.9 MB is small, and others are answered meanwhile", async () => {
  const pages = await open(Array.from({ length: 6 }, (_, n) => answer(3_900_000 + n)));
  await (await pages.ask("/chat/operator")).text();
  const { ms, done } = await longestWait(async () => (await pages.ask("/chat/operator")).text());
  expect(done.length).toBeLessThan(6 * 4 * WINDOW_CHARACTERS);
  expect(done.match(/<p>begins/g)).toHaveLength(6);
  expect(done).not.toContain("ends</p>");
  expect(ms).toBeLessThan(100);
});

test("a cloud model is named below its answer, and nowhere else", async () => {
  const more = {
    said: [{ kind: "text", text: "It adds." }, say("cloudAnswered", "claude/m-1")],
    model: { provider: "claude", model: "m-1", local: false },
  } satisfies Partial<Reply>;
  const page = await (await (await open(["It adds."], more)).ask("/chat/operator")).text();
  expect(page).toContain("<p>It adds.</p>");
  expect(page.match(/m-1/g)).toHaveLength(1);
  expect(page).not.toContain("came from a cloud model");
});

test("the rest is read window by window to the end, by those alone who may read the chat", async () => {
  const text = answer(90_000);
  const pages = await open([text]);
  const page = await (await pages.ask("/chat/operator")).text();
  let next = /href="(\/answers\/[^"]+)"/.exec(page)?.[1];
  const shown: string[] = [];
  while (next !== undefined) {
    const window = await (await pages.ask(next.replaceAll("&amp;", "&"))).text();
    shown.push(window);
    next = /href="(\/answers\/[^"]+)">Continue/.exec(window)?.[1];
  }
  expect(shown).toHaveLength(Math.ceil(text.length / WINDOW_CHARACTERS));
  expect(shown.join("").match(/example\.org/g)).toHaveLength(text.match(/example\.org/g)?.length ?? 0);
  expect(shown.at(-1)).toContain("ends</p>");
  for (const path of ["/answers/msg_1_aaaaaaa0/7", "/answers/msg_none/0", "/answers/msg_1_aaaaaaa0/x"])
    expect((await pages.ask(path)).status).toBe(404);
  expect((await pages.ask("/answers/msg_1_aaaaaaa0/0?from=99999999")).status).toBe(200);
});

test("a channel renders what it can show", () => {
  const reply = { text: answer(3_900_000), ok: true, sessionId: "s", jobs: [], actions: [] };
  const texts = channelMessagesFor("en");
  toBlocks({ kind: "notice", text: LINE }, texts);
  const before = cpuTimeMs();
  const shown = toBlocks({ kind: "reply", reply }, texts);
  expect(cpuTimeMs() - before).toBeLessThan(100);
  expect(shown.file).toBe(reply.text);
  expect(shown.blocks.length).toBeLessThan(10);
});
