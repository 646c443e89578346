import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWebChannel } from "../../src/adapters/web/channel.ts";
import type { Channel, Receive } from "../../src/application/ports/channel.ts";
import { createMessageStore } from "../../src/infrastructure/store/message-store.ts";
import { openSqlite } from "../../src/infrastructure/store/sqlite.ts";
import { createFakeChannel } from "../fakes/channel.ts";
import { createPages } from "../serve/pages-kit.ts";
import { describeChannel } from "./channel.contract.ts";

describeChannel("the fake", async (receive) => {
  const { channel, shown, faults } = createFakeChannel();
  const answers = {
    "429": { status: "later", reason: "429", afterMs: 1_000 },
    "500": { status: "later", reason: "500" },
    "no-answer": { status: "later", reason: "no answer" },
    refused: { status: "impossible", reason: "blocked" },
  } as const;
  return {
    channel,
    say: ({ event, text }) => acknowledged(receive, { eventId: event, text, channel: "test" }),
    shown: async () => shown.map(({ text }) => text),
    fault: (kind) => void faults.push(answers[kind]),
    close: () => channel.close(),
  };
});

/** The console's own pages stand for the person: what they post, and what they show. */
describeChannel("the web", async (receive) => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-web-channel-"));
  const db = openSqlite(join(folder, "store.db"));
  const store = await createMessageStore(db, () => new Date());
  const pages = await createPages(db, store, receive);
  const inner = createWebChannel();
  // A reply reaches the page through the store, as `serve` has it: delivered is what the outbox holds.
  const channel: Channel = {
    ...inner,
    async deliver(delivery, signal) {
      await store.post({ ...delivery, messageId: pages.lastMessage(), at: delivery.since }).catch(() => {});
      return inner.deliver(delivery, signal);
    },
  };
  return {
    channel,
    say: async ({ event, text }) => {
      const status = await pages.say(event, text);
      return status === 303;
    },
    shown: () => pages.shown(),
    close: async () => {
      await db.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

async function acknowledged(
  receive: Receive,
  message: { readonly channel: string; readonly eventId: string; readonly text: string },
): Promise<boolean> {
  try {
    await receive({ ...message, chatId: "c", userId: "u" });
    return true;
  } catch {
    return false;
  }
}
