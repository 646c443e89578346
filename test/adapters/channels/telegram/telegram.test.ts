import { afterEach, describe, expect, test } from "bun:test";
import { GrammyError } from "grammy/web";
import type { ServiceTrouble } from "../../../../src/adapters/channels/service-call.ts";
import {
  createTelegramChannel,
  createTelegramClient,
  createTelegramUpdates,
  createTelegramWebhook,
  pollTelegram,
  toTelegramHtml,
} from "../../../../src/adapters/channels/telegram-channel.ts";
import type { JobAction } from "../../../../src/application/jobs/action-report.ts";
import type { Delivery, InboundMessage, StoredMessage } from "../../../../src/application/ports/serve.ts";
import { channelMessagesFor } from "../../../../src/domain/texts/channels.ts";
import { until } from "../../../e2e/cli-kit.ts";
import { discardedPiece, replyOf } from "../../../fakes/conversation.ts";
import { PNG } from "../../../fakes/pictures.ts";
import { pressing, saying, startTelegram } from "../../../fakes/telegram/telegram-server.ts";

const TOKEN = "42:a-token";
const TEXTS = {
  ...channelMessagesFor("en"),
  working: "working",
  wholeText: "as a file",
  pollsElsewhere: "another process polls",
};
const clock = { ms: 0 };
let telegram: ReturnType<typeof startTelegram>;
afterEach(() => telegram.stop());

function start(store: (message: InboundMessage) => Promise<void> = async () => {}) {
  telegram = startTelegram(TOKEN);
  const client = createTelegramClient({ token: TOKEN, apiUrl: telegram.url });
  const received: InboundMessage[] = [];
  const take = createTelegramUpdates({
    client,
    receive: async (message) => {
      await store(message);
      received.push(message);
      return { status: "accepted", messageId: "msg_1_aaaaaaaa" };
    },
  });
  const polled: { trouble: ServiceTrouble | null } = { trouble: null };
  const channel = createTelegramChannel({
    client,
    texts: () => TEXTS,
    // Pauses are over at once, limits never come.
    timers: {
      now: () => new Date(clock.ms),
      after: (ms, run) => (ms < 10_000 ? atOnce(ms, run) : () => {}),
    },
    describe: (event) => (event.type === "job-command" ? event.command : null),
    fileUrl: (path) => `${telegram.url}/file/bot${TOKEN}/${path}`,
    pollTrouble: () => polled.trouble,
    onClose: async () => {},
  });
  return { client, take, channel, received, polled };
}

const delivery = (
  text: string,
  actions: readonly JobAction[] = [],
  more: Partial<Delivery> = {},
): Delivery => ({
  key: crypto.randomUUID(),
  channel: "telegram",
  chatId: "7",
  userId: "7",
  content: { kind: "reply", reply: { ...replyOf(text), actions } },
  since: new Date().toISOString(),
  attempt: 1,
  ...more,
});
const signal = () => AbortSignal.timeout(10_000);
const atOnce = (_: number, run: () => void) => {
  queueMicrotask(run);
  return () => {};
};

describe("what the bot hears", () => {
  const group = { chat: { id: -100, type: "supergroup", title: "team" } };
  const cases: readonly [string, ReturnType<typeof saying>, Partial<InboundMessage> | null][] = [
    ["a person", saying(1, "hello"), { chatId: "7", userId: "7", text: "hello", eventId: "update:1" }],
    ["whoever opens the chat", saying(1, "/start"), { text: "/help" }],
    ["talk among others", saying(1, "hello", group), null],
    [
      "its name in a group",
      saying(1, "do it, @Pico_bot please", group),
      { chatId: "-100", text: "do it, please" },
    ],
    ["a command in a group", saying(1, "/undo job_1_aaaaaaaa", group), { text: "/undo job_1_aaaaaaaa" }],
    ["a command with its name", saying(1, "/undo@pico_bot x", group), { text: "/undo x" }],
    ["a command for another bot", saying(1, "/undo@other_bot x", group), null],
    [
      "an answer to it",
      saying(1, "yes", { ...group, reply_to_message: { from: { id: 1 } } }),
      { text: "yes" },
    ],
    [
      "a topic of a group",
      saying(1, "/jobs", { ...group, is_topic_message: true, message_thread_id: 5 }),
      { chatId: "-100:5" },
    ],
    [
      "a file with a caption",
      saying(1, "", {
        text: undefined,
        caption: "look",
        document: { file_name: "a.csv", mime_type: "text/csv", file_size: 12 },
      }),
      { text: "look", attachments: [{ name: "a.csv", mediaType: "text/csv", sizeBytes: 12 }] },
    ],
    ["another bot", saying(1, "hello", { from: { id: 9, is_bot: true, first_name: "b" } }), null],
    ["a sticker", saying(1, "", { text: undefined, sticker: {} }), null],
  ];
  test.each(cases)("%s", async (_, update, heard) => {
    const { take, received } = start();
    await take(update as never);
    if (heard === null) expect(received).toEqual([]);
    else expect(received).toMatchObject([heard]);
  });
});

test("a photo is fetched by its id, in the largest size that models take", async () => {
  const { take, channel, received } = start();
  telegram.contents.set("middle", PNG);
  const photo = [
    { file_id: "small", file_size: 100 },
    { file_id: "middle", file_size: 900_000 },
    { file_id: "huge", file_size: 9_000_000 },
  ];
  await take(saying(1, "", { text: undefined, caption: "what is this?", photo }) as never);
  expect(received).toMatchObject([
    {
      text: "what is this?",
      attachments: [{ mediaType: "image/jpeg", sizeBytes: 900_000, remote: "middle" }],
    },
  ]);
  const { signal } = new AbortController();
  expect(await channel.download?.("middle", 1_000, signal)).toEqual({ ok: true, bytes: PNG });
  const gone = await channel.download?.("gone", 1_000, signal);
  expect(gone).toEqual({ ok: false, reason: expect.stringContaining("wrong file_id") });
  expect(JSON.stringify(gone)).not.toContain(TOKEN);
});

describe("long polling", () => {
  test("an update is acknowledged once it is stored; one that could not be stored is delivered again", async () => {
    let failures = 1;
    const { client, take, received } = start(async () => {
      if (failures-- > 0) throw new Error("disk full");
    });
    const troubles: string[] = [];
    const stop = new AbortController();
    telegram.post(saying(10, "first"));
    telegram.post(saying(11, "second"));
    const both = Promise.withResolvers<void>();
    const polling = pollTelegram(
      {
        client,
        take: async (update) => {
          expect(telegram.waiting()).toContain(update.update_id);
          await take(update);
          if (received.length === 2) both.resolve();
        },
        texts: () => TEXTS,
        timers: { now: () => new Date(), after: atOnce },
        onPolled: () => {},
        onTrouble: (error) => troubles.push(String(error)),
      },
      stop.signal,
    );
    await both.promise;
    stop.abort();
    await polling;
    expect(received.map(({ text }) => text)).toEqual(["first", "second"]);
    expect(troubles).toEqual(["Error: disk full"]);
    expect(telegram.calls[0]).toBe("deleteWebhook");
  });

  test("a poll that fails is the channel's state, in words and with what helps, until one succeeds", async () => {
    const { channel, polled } = start();
    const conflict = new GrammyError(
      "Call to 'getUpdates' failed!",
      { ok: false, error_code: 409, description: "Conflict: terminated by other getUpdates request" },
      "getUpdates",
      {},
    );
    const answers: unknown[] = [conflict, [null], "<html>", []];
    const states: unknown[] = [];
    const troubles: unknown[] = [];
    const stop = new AbortController();
    const getUpdates = async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer as never;
    };
    await pollTelegram(
      {
        client: { deleteWebhook: async () => true as const, getUpdates },
        take: async () => {},
        texts: () => TEXTS,
        timers: { now: () => new Date(), after: atOnce },
        onPolled(trouble) {
          polled.trouble = trouble;
          states.push(trouble);
          if (answers.length === 0) stop.abort();
        },
        onTrouble: (error) => troubles.push(error),
      },
      stop.signal,
    );
    const detail = "getUpdates: Telegram: 409 Conflict: terminated by other getUpdates request";
    const garbage = "getUpdates: Telegram: the answer to getUpdates is not a list of updates";
    expect(states).toEqual([
      { detail, remedy: "another process polls" },
      { detail: garbage },
      { detail: garbage },
      null,
    ]);
    // Words, of which no stack is printed.
    expect(troubles).toEqual([`${detail}; another process polls`, garbage, garbage]);
    expect((await channel.check(signal())).ok).toBe(true);
    polled.trouble = { detail, remedy: "another process polls" };
    expect(await channel.check(signal())).toEqual({ ok: false, detail, remedy: "another process polls" });
  });

  test("no error shows the token", async () => {
    const { client, channel } = start();
    telegram.stop();
    const checked = await channel.check(signal());
    expect(checked.ok).toBe(false);
    const error = await client.getMe().catch((cause: unknown) => cause);
    expect(JSON.stringify(checked) + String(error)).not.toContain(TOKEN);
  });
});

test("the webhook is closed to callers without its secret", async () => {
  const { take, received } = start();
  const hook = createTelegramWebhook({ secret: "s3cret", take, onTrouble: () => {} });
  const body = JSON.stringify(saying(1, "hello"));
  const post = (secret: string, text = body) =>
    hook(
      new Request("http://localhost/", {
        method: "POST",
        body: text,
        headers: { "x-telegram-bot-api-secret-token": secret },
      }),
    ).then(({ status }) => status);
  expect([await post(""), await post("s3creT"), await post("s3cret", "{"), await post("s3cret")]).toEqual([
    401, 401, 400, 200,
  ]);
  expect(received).toHaveLength(1);
});

describe("while it works", () => {
  const asked: StoredMessage = {
    ...{ id: "msg_1_aaaaaaaa", channel: "telegram", eventId: "update:1", chatId: "-100:5", userId: "7" },
    ...{ text: "do it", workspace: "/ws", receivedAt: "", state: "working", attempts: 1 },
  };
  const running = { type: "job-command", jobId: "job_1_aaaaaaaa", index: 1, command: "npm test" } as const;

  test("quick work only shows the typing indicator", async () => {
    const { channel } = start();
    for (let i = 0; i < 5; i++) channel.progress?.(asked, running);
    await until(() => telegram.calls.includes("sendChatAction"));
    await channel.deliver(delivery("Done", [], { messageId: asked.id }), signal());
    expect(telegram.calls).toEqual(["sendChatAction", "sendMessage"]);
  });

  test("longer work is reported in a silent message, which the reply replaces", async () => {
    const { channel } = start();
    channel.progress?.(asked, running);
    clock.ms += 4_500;
    channel.progress?.(asked, running);
    const status = await until(() => telegram.messages.find(({ text }) => text === "npm test"));
    expect(status).toMatchObject({ silent: true, thread: 5 });
    channel.progress?.(asked, { type: "text", agent: "Gin", text: "half a sen" });
    await until(() => telegram.messages.find(({ text }) => text === "half a sen\n\nnpm test"));
    await channel.deliver(delivery("Done", [], { messageId: asked.id, chatId: "-100:5" }), signal());
    channel.progress?.(asked, running);
    expect(telegram.messages).toMatchObject([{ text: "Done", silent: false, thread: 5 }]);
  });
});

describe("what a person sees", () => {
  const undo = { label: "Undo", message: "/undo job_1764000000_k3v9x2ab" };
  test("buttons under the last piece; one that does not fit is copied", async () => {
    const { channel } = start();
    const long = { label: "As a plan", message: `/code plan ${"x".repeat(80)}` };
    const tooLong = { label: "No", message: "y".repeat(300) };
    await channel.deliver(delivery("Done", [undo, long, tooLong]), signal());
    expect(telegram.messages[0]?.keyboard).toEqual([
      [
        { text: "Undo", callback_data: undo.message },
        { text: "As a plan", copy_text: { text: long.message } },
      ],
    ]);
  });

  test("a pressed button is a message, and its message then shows what can be done next", async () => {
    const { channel, take, received } = start();
    await channel.deliver(delivery("Applied", [undo]), signal());
    const id = telegram.messages[0]?.id as number;
    await take(pressing(5, undo.message, id) as never);
    expect(received).toMatchObject([{ text: undo.message, chatId: "7", replyTo: { pressed: id } }]);
    expect(telegram.calls).toContain("answerCallbackQuery");
    const redo = { label: "Redo", message: "/redo job_1764000000_k3v9x2ab" };
    await channel.deliver(delivery("Undone", [redo], { replyTo: { pressed: id } }), signal());
    expect(telegram.messages[0]?.keyboard).toEqual([[{ text: "Redo", callback_data: redo.message }]]);
    const words = delivery("A diff", [], { replyTo: { pressed: id } });
    await channel.deliver(words, signal());
    expect(telegram.messages[0]?.keyboard).toHaveLength(1);
    const gone = { ...replyOf("Discarded"), said: [discardedPiece("job_1764000000_k3v9x2ab")] };
    await channel.deliver({ ...words, key: "gone", content: { kind: "reply", reply: gone } }, signal());
    expect(telegram.messages[0]?.keyboard).toEqual([]);
  });

  test("a long reply is sent in pieces, continues where it broke off, and ends as a file", async () => {
    const { channel } = start();
    const text = Array.from({ length: 400 }, (_, i) => `Line ${i} ${"word ".repeat(10)}`).join("\n");
    const reply = delivery(text);
    const no = () => Response.json({ ok: false, error_code: 500, description: "oops" }, { status: 500 });
    const shown = () => telegram.messages.length;
    expect(await channel.wasDelivered?.(reply, signal())).toBe("unknown");
    // Its last part breaks off.
    telegram.faults.push({ method: "sendDocument", answer: no });
    expect((await channel.deliver(reply, signal())).status).toBe("later");
    expect([shown(), await channel.wasDelivered?.(reply, signal())]).toEqual([4, false]);
    expect((await channel.deliver({ ...reply, attempt: 2 }, signal())).status).toBe("sent");
    expect([shown(), telegram.files.map((file) => file.text)]).toEqual([4, [text.trim()]]);
    expect(await channel.wasDelivered?.(reply, signal())).toBe(true);
    await channel.deliver({ ...reply, attempt: 3 }, signal());
    expect(shown()).toBe(4);
  });

  test("Markdown becomes Telegram's marks, and what a model wrote makes none of its own", async () => {
    expect(
      toTelegramHtml(
        '# Title\n**bold** `a<b` [x](https://e.org/?a=1&b="2)\n- one\n```ts\nif (a < b) {}\n```\n<script>',
      ),
    ).toBe(
      "<b>Title</b>\n<b>bold</b> <code>a&lt;b</code> [x](https://e.org/?a=1&amp;b=&quot;2)\n• one\n<pre>if (a &lt; b) {}</pre>\n&lt;script&gt;".replace(
        "[x](https://e.org/?a=1&amp;b=&quot;2)",
        '<a href="https://e.org/?a=1&amp;b=&quot;2">x</a>',
      ),
    );
    const { channel } = start();
    const unreadable = { ok: false, error_code: 400, description: "Bad Request: can't parse entities: x" };
    telegram.faults.push({ method: "sendMessage", answer: () => Response.json(unreadable, { status: 400 }) });
    expect(await channel.deliver(delivery("**plain**"), signal())).toEqual({ status: "sent" });
    expect(telegram.messages).toMatchObject([{ text: "**plain**", html: false }]);
  });
});
