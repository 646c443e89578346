import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messagingApi } from "@line/bot-sdk";
import { createLineChannel, createLineWebhook } from "../../src/adapters/channels/line-channel.ts";
import { createSlackChannel } from "../../src/adapters/channels/slack-channel.ts";
import { createSlackApp } from "../../src/adapters/channels/slack-events.ts";
import {
  createTelegramChannel,
  createTelegramClient,
  createTelegramUpdates,
  createTelegramWebhook,
} from "../../src/adapters/channels/telegram-channel.ts";
import { createWebChannel } from "../../src/adapters/web/host.ts";
import type { Timers } from "../../src/application/ports/platform.ts";
import type { Channel, Receive } from "../../src/application/ports/serve.ts";
import { channelMessagesFor } from "../../src/domain/texts/channels.ts";
import { openSqlite } from "../../src/infrastructure/store/open-store.ts";
import { createPages } from "../adapters/web/pages-kit.ts";
import { createFakeChannel } from "../fakes/channel.ts";
import { startLine } from "../fakes/line/line-server.ts";
import { startSlack } from "../fakes/slack/slack-server.ts";
import { saying, startTelegram } from "../fakes/telegram/telegram-server.ts";
import { openMessages } from "../infrastructure/store/open-messages.ts";
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
describeChannel(
  "the web",
  async (receive) => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-web-channel-"));
    const db = openSqlite(join(folder, "store.db"));
    const { store } = await openMessages({ db, now: () => new Date() });
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
  },
  "none",
);

/** LINE's own client against a LINE of this machine. */
describeChannel("LINE", async (receive) => {
  const line = startLine({ token: "access" });
  const channel = createLineChannel({
    client: new messagingApi.MessagingApiClient({ channelAccessToken: "access", baseURL: line.url }),
    content: { url: line.url, token: "access" },
    counter: { used: async () => 0, add: async () => {} },
    quota: () => 200,
    wording: () => ({ texts: channelMessagesFor("en"), jobUrl: () => null }),
    timers: realTimers,
  });
  const hook = createLineWebhook({
    secret: "secret",
    channel,
    receive,
    forcedRoute: () => "CHAT",
    strict: () => false,
    sendWaiting: () => {},
    onTrouble: () => {},
  });
  const faults = {
    "429": () => Response.json({ message: "slow down" }, { status: 429 }),
    "500": () => new Response("", { status: 500 }),
    "no-answer": () => "silence" as const,
    refused: () => Response.json({ message: "blocked" }, { status: 403 }),
  };
  return {
    channel,
    async say({ event, text }) {
      const body = JSON.stringify({
        destination: "Ubot",
        events: [
          {
            type: "message",
            mode: "active",
            timestamp: Date.now(),
            webhookEventId: event,
            deliveryContext: { isRedelivery: false },
            replyToken: line.issue("Ualice"),
            source: { type: "user", userId: "Ualice" },
            message: { type: "text", id: "1", text, quoteToken: "q" },
          },
        ],
      });
      const signature = createHmac("sha256", "secret").update(body).digest("base64");
      const headers = { "x-line-signature": signature };
      return (await hook(new Request("http://localhost/", { method: "POST", body, headers }))).status === 200;
    },
    shown: async () => line.shown.map(({ text }) => text),
    fault: (kind) => void line.faults.push(faults[kind]()),
    async close() {
      await channel.close();
      line.stop();
    },
  };
});

/** Slack's own client against a Slack of this machine. */
describeChannel("Slack", async (receive) => {
  const slack = startSlack({ botToken: "xoxb", appToken: "xapp" });
  const texts = () => channelMessagesFor("en");
  const app = createSlackApp({
    botToken: "xoxb",
    appToken: null,
    signingSecret: "secret",
    apiUrl: slack.url,
    receive,
    texts,
    timers: realTimers,
    onTrouble: () => {},
  });
  const channel = createSlackChannel({
    client: app.client,
    texts,
    timers: realTimers,
    describe: () => null,
    files: { token: "xoxb", apiUrl: slack.url },
    socketTrouble: app.socketTrouble,
    onClose: () => app.stop(),
  });
  const faults = {
    "429": () => new Response("", { status: 429, headers: { "retry-after": "1" } }),
    "500": () => new Response("", { status: 500 }),
    "no-answer": () => new Promise<Response>(() => {}),
    refused: () => Response.json({ ok: false, error: "is_archived" }),
  };
  return {
    channel,
    async say({ event, text }) {
      // As Slack sends what a person typed.
      const typed = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
      const body = JSON.stringify({
        type: "event_callback",
        team_id: "T1",
        api_app_id: "A1",
        event_id: event,
        authorizations: [],
        event: {
          type: "app_mention",
          user: "Ualice",
          text: `<@UBOT> ${typed}`,
          ts: "1700000001.000100",
          channel: "C1",
        },
      });
      const at = String(Math.floor(Date.now() / 1000));
      const signature = `v0=${createHmac("sha256", "secret").update(`v0:${at}:${body}`).digest("hex")}`;
      const headers = {
        "content-type": "application/json",
        "x-slack-signature": signature,
        "x-slack-request-timestamp": at,
      };
      const response = await app.webhook?.(
        new Request("http://localhost/", { method: "POST", body, headers }),
      );
      return response?.status === 200;
    },
    shown: async () => slack.messages.map(({ text }) => text),
    fault: (kind) => void slack.faults.push({ method: "chat.postMessage", answer: faults[kind] }),
    async close() {
      await channel.close();
      slack.stop();
    },
  };
});

/** grammY's client against a Telegram of this machine. */
describeChannel("Telegram", async (receive) => {
  const telegram = startTelegram("1:token");
  const client = createTelegramClient({ token: "1:token", apiUrl: telegram.url });
  const channel = createTelegramChannel({
    pollTrouble: () => null,
    client,
    texts: () => channelMessagesFor("en"),
    timers: realTimers,
    describe: () => null,
    fileUrl: (path) => `${telegram.url}/file/bot1:token/${path}`,
    onClose: async () => {},
  });
  const take = createTelegramUpdates({ client, receive });
  const hook = createTelegramWebhook({ secret: "secret", take, onTrouble: () => {} });
  const no =
    (error_code: number, description: string, parameters = {}) =>
    () =>
      Response.json({ ok: false, error_code, description, parameters }, { status: error_code });
  const faults = {
    "429": no(429, "Too Many Requests: retry after 1", { retry_after: 1 }),
    "500": () => new Response("", { status: 500 }),
    "no-answer": () => new Promise<Response>(() => {}),
    refused: no(403, "Forbidden: bot was blocked by the user"),
  };
  return {
    channel,
    async say({ event, text }) {
      const body = JSON.stringify(saying(Number(event.slice(1)), text));
      const headers = { "x-telegram-bot-api-secret-token": "secret" };
      return (await hook(new Request("http://localhost/", { method: "POST", body, headers }))).status === 200;
    },
    shown: async () => telegram.messages.map(({ text }) => text),
    fault: (kind) => void telegram.faults.push({ method: "sendMessage", answer: faults[kind] }),
    async close() {
      await channel.close();
      telegram.stop();
    },
  };
});

const realTimers: Timers = {
  now: () => new Date(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

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
