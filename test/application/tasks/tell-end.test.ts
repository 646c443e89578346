import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SolveTask } from "../../../src/application/ports/tasks.ts";
import { createNotifyTaskEnd } from "../../../src/application/tasks/forge-service.ts";
import { chatMessagesFor } from "../../../src/domain/texts/chat.ts";
import { solveMessagesFor } from "../../../src/domain/texts/tasks.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { newMessage, openMessages } from "../../infrastructure/store/open-messages.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-tell-end-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ITEM = {
  forge: "github",
  site: "https://github.com",
  repository: "acme/calc",
  kind: "issue",
  number: 7,
} as const;
const task = (facts: Partial<SolveTask>) =>
  ({
    id: "t",
    item: ITEM,
    title: "Fix the sum",
    failure: null,
    pull: null,
    checks: [],
    ...facts,
  }) as SolveTask;

async function open(chat: string | null) {
  const db = openSqlite(join(folder, "store.db"));
  const { store } = await openMessages({ db, now: () => new Date() });
  const tell = createNotifyTaskEnd({
    chat: () => chat,
    post: (reply) => store.post(reply),
    solveWords: () => solveMessagesFor("en"),
    chatWords: () => chatMessagesFor("en"),
    uuid: () => crypto.randomUUID(),
    now: () => new Date(),
  });
  return { store, tell, close: () => db.destroy() };
}

test("a finished task is reported to the chat once, with its address, and stays visible there", async () => {
  const { store, tell, close } = await open("web:operator");
  const said = { channel: "web", eventId: "1", chatId: "operator", userId: "operator", text: "hello" };
  await store.addAll([newMessage(said, "msg_1_aaaaaaaa", new Date().toISOString())]);
  const pull = { ref: ITEM, url: "https://github.com/acme/calc/pull/8" };
  await tell(task({ state: "done", pull }), [{ kind: "warn", spentUsd: 4.5, dailyUsd: 5 }]);
  const [exchange] = await store.transcript({ channel: "web", chatId: "operator", limit: 10 });
  const texts = exchange?.replies.map(({ content }) => (content.kind === "notice" ? content.text : "?"));
  expect(texts).toHaveLength(1);
  expect(texts?.[0]?.split("\n")).toEqual([
    "PicoClaw is done: Fix the sum",
    "https://github.com/acme/calc/issues/7",
    solveMessagesFor("en").pullOpened("https://github.com/acme/calc/pull/8"),
    solveMessagesFor("en").verdicts.unchecked,
    "Today's budget is nearly spent ($4.50 of $5.00).",
  ]);
  expect((await store.claimReply())?.reply).toMatchObject({ channel: "web", chatId: "operator" });
  expect(await store.claimReply()).toBeNull();
  await close();
});

test("a failure says why; a task that a person stopped or paused, and one without a chat, is not reported", async () => {
  const { store, tell, close } = await open("slack:C1");
  for (const state of ["stopped", "paused", "waiting", "running"] as const) await tell(task({ state }), []);
  expect(await store.claimReply()).toBeNull();
  await tell(task({ state: "failed", failure: { kind: "x", message: "The disk is full." } }), []);
  const claimed = await store.claimReply();
  expect(claimed?.reply.content).toEqual({
    kind: "notice",
    text: "PicoClaw could not finish: Fix the sum\nhttps://github.com/acme/calc/issues/7\nThe disk is full.",
  });
  await close();
  const quiet = await open(null);
  await quiet.tell(task({ state: "done" }), []);
  expect(await quiet.store.claimReply()).toBeNull();
  await quiet.close();
});
