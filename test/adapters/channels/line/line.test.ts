import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { messagingApi } from "@line/bot-sdk";
import {
  createLineChannel,
  createLineWebhook,
  type LineChannel,
} from "../../../../src/adapters/channels/line-channel.ts";
import type { Reply } from "../../../../src/application/ports/chat.ts";
import type { Delivery, InboundMessage, ReceiveResult } from "../../../../src/application/ports/serve.ts";
import { channelMessagesFor } from "../../../../src/domain/texts/channels.ts";
import { startLine } from "../../../fakes/line/line-server.ts";
import { PNG } from "../../../fakes/pictures.ts";
import { createManualTimers } from "../../../fakes/timers.ts";

const SECRET = "channel-secret";
const TOKEN = "channel-access-token";

describe("LINE", () => {
  let timers: ReturnType<typeof createManualTimers>;
  let line: ReturnType<typeof startLine>;
  let channel: LineChannel;
  let received: InboundMessage[];
  let answer: (message: InboundMessage) => ReceiveResult | Error;
  let nudged: string[];
  let pushes: number;
  let quota: number;
  let hook: (request: Request) => Promise<Response>;

  const start = () => {
    const texts = channelMessagesFor("ja");
    channel = createLineChannel({
      client: new messagingApi.MessagingApiClient({ channelAccessToken: TOKEN, baseURL: line.url }),
      content: { url: line.url, token: TOKEN },
      counter: {
        used: async () => pushes,
        async add(_channel, _month, count) {
          pushes += count;
        },
      },
      quota: () => quota,
      wording: () => ({ texts, jobUrl: (id) => `https://console.example/jobs/${id}` }),
      timers,
    });
    hook = createLineWebhook({
      secret: SECRET,
      channel,
      receive: async (message) => {
        const outcome = answer(message);
        if (outcome instanceof Error) throw outcome;
        received.push(message);
        return outcome;
      },
      forcedRoute: () => "CHAT",
      strict: () => false,
      sendWaiting: (chatId) => nudged.push(chatId),
      onTrouble: () => {},
    });
  };
  beforeEach(() => {
    timers = createManualTimers();
    line = startLine({ token: TOKEN, now: () => timers.now().getTime() });
    received = [];
    nudged = [];
    pushes = 0;
    quota = 200;
    answer = () => ({ status: "accepted", messageId: "msg_1" });
    start();
  });
  afterEach(async () => {
    await channel.close();
    line.stop();
  });

  const event = (more: object = {}, chatId = "Ualice") => ({
    type: "message",
    mode: "active",
    timestamp: timers.now().getTime(),
    webhookEventId: crypto.randomUUID(),
    deliveryContext: { isRedelivery: false },
    replyToken: line.issue(chatId),
    source: { type: "user", userId: "Ualice" },
    message: { type: "text", id: "1", text: "こんにちは", quoteToken: "q" },
    ...more,
  });
  const post = (body: string, signature = createHmac("sha256", SECRET).update(body).digest("base64")) =>
    hook(
      new Request("http://localhost/webhooks/line", {
        method: "POST",
        body,
        headers: { "x-line-signature": signature },
      }),
    );
  const send = (...events: object[]) => post(JSON.stringify({ destination: "Ubot", events }));
  const reply = (text: string, more: Partial<Reply> = {}): Reply => ({
    text,
    ok: true,
    sessionId: "s",
    jobs: [],
    actions: [],
    ...more,
  });
  const delivery = (text: string | Reply, more: Partial<Delivery> = {}): Delivery => ({
    key: crypto.randomUUID(),
    channel: "line",
    chatId: "Ualice",
    userId: "Ualice",
    content: { kind: "reply", reply: typeof text === "string" ? reply(text) : text },
    since: timers.now().toISOString(),
    attempt: 1,
    ...more,
  });
  const { signal } = new AbortController();

  test("an image of a person is fetched by the message's id; one of a group or of another server is left alone", async () => {
    line.contents.set("77", PNG);
    const image = { type: "image", id: "77", quoteToken: "q", contentProvider: { type: "line" } };
    await send(event({ message: image }));
    expect(received).toMatchObject([
      { text: "", attachments: [{ name: "77.jpg", mediaType: "image/jpeg", remote: "77" }] },
    ]);
    const { signal } = new AbortController();
    expect(await channel.download?.("77", 1_000, signal)).toEqual({ ok: true, bytes: PNG });
    expect(await channel.download?.("78", 1_000, signal)).toEqual({ ok: false, reason: "HTTP 404" });
    const provider = { type: "external", originalContentUrl: "https://elsewhere.example/a.png" };
    await send(
      event({ message: { ...image, contentProvider: provider } }),
      event({ message: image, source: { type: "group", groupId: "Cg", userId: "Ualice" } }),
    );
    expect(received.length).toBe(1);
  });

  test("a genuine event is stored and answered 200, forced to CHAT, with the loading mark", async () => {
    expect((await send(event())).status).toBe(200);
    expect(received).toMatchObject([
      { channel: "line", chatId: "Ualice", userId: "Ualice", text: "こんにちは", forcedRoute: "CHAT" },
    ]);
    while (line.loading.length === 0) await Bun.sleep(5);
    expect(line.loading).toEqual(["Ualice"]);
  });

  test("very many events of one request are taken in their order, and others are served between them", async () => {
    let turns = 0;
    let goesOn = true;
    const count = () => {
      turns += 1;
      if (goesOn) setImmediate(count);
    };
    setImmediate(count);
    const texts = Array.from({ length: 100 }, (_, n) => `m${n}`);
    const message = { type: "text", id: "1", quoteToken: "q" };
    const sent = await send(...texts.map((text) => event({ message: { ...message, text } })));
    goesOn = false;
    expect(sent.status).toBe(200);
    expect(received.map(({ text }) => text)).toEqual(texts);
    expect(turns).toBeGreaterThanOrEqual(4);
  });

  test("a forged, missing or shifted signature is refused and nothing is stored", async () => {
    const body = JSON.stringify({ destination: "Ubot", events: [event()] });
    const genuine = createHmac("sha256", SECRET).update(body).digest("base64");
    expect((await post(body, "forged")).status).toBe(401);
    expect((await post(body, "")).status).toBe(401);
    expect((await post(`${body} `, genuine)).status).toBe(401);
    expect(received).toEqual([]);
  });

  test("what cannot be stored is not acknowledged", async () => {
    answer = () => new Error("disk full");
    expect((await send(event())).status).toBe(500);
  });

  test("an id that no database takes is a bad request, whichever it is", async () => {
    const one = event() as unknown as { source: object };
    for (const bad of [
      { ...one, webhookEventId: "a\u0000b" },
      { ...one, replyToken: "\u0000" },
      { ...one, source: { ...one.source, userId: "U\u00001" } },
      { ...one, source: { type: "group", userId: "U1", groupId: "C\u0000" } },
    ])
      expect((await send(bad as never)).status).toBe(400);
    expect(received).toEqual([]);
  });

  test("a body that is signed but no JSON is a bad request; events of other kinds are passed over", async () => {
    expect((await post("{")).status).toBe(400);
    expect(
      (
        await send({
          type: "follow",
          mode: "active",
          timestamp: 1,
          webhookEventId: "x",
          source: { type: "user", userId: "U" },
        })
      ).status,
    ).toBe(200);
    expect((await send(event({ mode: "standby" }))).status).toBe(200);
    expect((await send()).status).toBe(200);
    expect(received).toEqual([]);
  });

  test("an event of another shape than LINE's does not keep the others from being taken", async () => {
    const odd = [
      null,
      5,
      [],
      {},
      { type: "message" },
      event({ webhookEventId: 1 }),
      event({ message: null }),
      event({ message: { type: "text", id: "1", text: 5 } }),
      event({ source: { type: "user", userId: {} } }),
      event({ source: null }),
      event({ type: "postback", postback: null }),
    ];
    expect((await send(...(odd as object[]), event())).status).toBe(200);
    expect(received.map(({ text }) => text)).toEqual(["こんにちは"]);
  });

  test("a stranger learns how to get access, by the free reply", async () => {
    answer = () => ({ status: "refused", reason: "stranger", text: "コード 1234" });
    await send(event());
    expect(line.shown).toMatchObject([{ chatId: "Ualice", how: "reply", text: "コード 1234" }]);
  });

  test("in a group only what names the bot or is a command is for it", async () => {
    const source = { type: "group", groupId: "Cgroup", userId: "Ualice" };
    const text = (words: string, mention?: object) => ({
      source,
      message: { type: "text", id: "1", text: words, quoteToken: "q", ...(mention && { mention }) },
    });
    await send(event(text("nur so"), "Cgroup"), event(text("/undo"), "Cgroup"));
    const mention = { mentionees: [{ type: "user", index: 0, length: 9, isSelf: true, userId: "Ubot" }] };
    await send(event(text("@PicoClaw 直して", mention), "Cgroup"));
    expect(received.map(({ chatId, text }) => [chatId, text])).toEqual([
      ["Cgroup", "/undo"],
      ["Cgroup", "直して"],
    ]);
  });

  test("a mention without a target and a timestamp ahead of our clock do not keep an event from being accepted", async () => {
    const message = { type: "text", id: "1", text: "/undo", quoteToken: "q", mention: { mentionees: null } };
    const tomorrow = timers.now().getTime() + 86_400_000;
    expect((await send(event({ message, timestamp: tomorrow }))).status).toBe(200);
    expect(received.map(({ text }) => text)).toEqual(["/undo"]);
    // The token is a minute old by then: LINE would refuse it.
    await timers.advance(60_000);
    await channel.deliver(delivery("late"), signal);
    expect(line.shown.filter(({ how, text }) => how === "reply" && text === "late")).toEqual([]);
  });

  test("a button's postback is a message of its own", async () => {
    await send(event({ type: "postback", postback: { data: "/undo" } }));
    expect(received.map(({ text }) => text)).toEqual(["/undo"]);
  });

  test("an answer in time is a free reply with its buttons", async () => {
    const asked = event();
    await send(asked);
    const actions = [{ label: "取り消す", message: "/undo" }];
    const answered = delivery(reply("できました", { actions }), {
      replyTo: { replyToken: asked.replyToken },
    });
    expect(await channel.deliver(answered, signal)).toEqual({ status: "sent" });
    expect(line.shown).toEqual([{ chatId: "Ualice", how: "reply", text: "できました", buttons: ["/undo"] }]);
    expect(pushes).toBe(0);
  });

  test("an interim message that is on its way does not follow the answer", async () => {
    await send(event());
    const held = Promise.withResolvers<"late">();
    line.faults.push(held.promise);
    await timers.advance(41_000);
    const sent = channel.deliver(delivery("the end"), signal);
    await Bun.sleep(50);
    held.resolve("late");
    expect(await sent).toEqual({ status: "sent" });
    expect(line.shown.map(({ how }) => how)).toEqual(["reply", "push"]);
    expect(line.shown.at(-1)?.text).toBe("the end");
  });

  test("before the token runs out an interim message spends it; its button brings a fresh one", async () => {
    await send(event());
    await timers.advance(41_000);
    while (line.shown.length === 0) await Bun.sleep(5);
    expect(line.shown).toMatchObject([{ how: "reply", buttons: ["picoclaw:collect"] }]);
    await timers.advance(60_000);
    await send(event({ type: "postback", postback: { data: "picoclaw:collect" } }));
    expect(nudged).toEqual(["Ualice"]);
    expect(received.length).toBe(1);
    const late = delivery("できました", { since: new Date(timers.now().getTime() - 101_000).toISOString() });
    expect(await channel.deliver(late, signal)).toEqual({ status: "sent" });
    expect(line.shown.at(-1)).toMatchObject({ how: "reply", text: "できました" });
    expect(pushes).toBe(0);
  });

  test("without a token it is pushed, counted, and not beyond the month's quota", async () => {
    quota = 1;
    const old = { since: new Date(timers.now().getTime() - 120_000).toISOString() };
    expect(await channel.deliver(delivery("1", old), signal)).toEqual({ status: "sent" });
    expect(pushes).toBe(1);
    expect(await channel.deliver(delivery("2", old), signal)).toMatchObject({ status: "later" });
    expect(line.shown.length).toBe(1);
    expect({ pushes, quota }).toEqual({ pushes: 1, quota: 1 });
    await send(event());
    expect(await channel.deliver(delivery("2", old), signal)).toEqual({ status: "sent" });
    expect(line.shown.at(-1)).toMatchObject({ how: "reply", text: "2" });
  });

  test("a push whose answer was lost is not shown twice", async () => {
    const old = delivery("once", { since: new Date(timers.now().getTime() - 120_000).toISOString() });
    line.faults.push("arrived");
    expect(await channel.deliver(old, signal)).toMatchObject({ status: "later" });
    expect(await channel.deliver({ ...old, attempt: 2 }, signal)).toEqual({ status: "sent" });
    expect(line.shown.length).toBe(1);
  });

  test("a reply whose answer was lost is not shown twice either", async () => {
    const request = event();
    await send(request);
    const once = delivery("once", { replyTo: { replyToken: request.replyToken } });
    line.faults.push("arrived");
    expect(await channel.deliver(once, signal)).toMatchObject({ status: "later" });
    expect(await channel.deliver({ ...once, attempt: 2 }, signal)).toEqual({ status: "sent" });
    expect(line.shown.length).toBe(1);
  });

  test("after a death between sending and noting, a young token tells that it arrived", async () => {
    const request = event();
    await send(request);
    const once = delivery("once", { replyTo: { replyToken: request.replyToken } });
    await channel.deliver(once, signal);
    start();
    expect(await channel.wasDelivered?.(once, signal)).toBe(true);
    expect(line.shown.length).toBe(1);
    const unsent = event();
    await send(unsent);
    start();
    expect(
      await channel.wasDelivered?.(delivery("two", { replyTo: { replyToken: unsent.replyToken } }), signal),
    ).toBe(true);
    expect(line.shown.map(({ text }) => text)).toEqual(["once", "two"]);
  });

  test("each of two messages in one webhook has its own token, also over a death of the process", async () => {
    const [first, second] = [event(), event()];
    await send(first, second);
    const one = delivery("one", { replyTo: { replyToken: first.replyToken } });
    const two = delivery("two", { replyTo: { replyToken: second.replyToken } });
    await channel.deliver(one, signal);
    start();
    expect(await channel.wasDelivered?.(one, signal)).toBe(true);
    expect(await channel.wasDelivered?.(two, signal)).toBe(true);
    expect(line.shown.map(({ how, text }) => [how, text])).toEqual([
      ["reply", "one"],
      ["reply", "two"],
    ]);
  });

  test("a token that an interim message may have spent tells nothing of the answer", async () => {
    const asked = event();
    await send(asked);
    const since = timers.now().toISOString();
    await timers.advance(41_000);
    start();
    const late = delivery("late", { replyTo: { replyToken: asked.replyToken }, since });
    expect(await channel.wasDelivered?.(late, signal)).toBe("unknown");
  });

  test("a burst of ten with ten good tokens spends no push", async () => {
    const events = Array.from({ length: 10 }, () => event());
    await send(...events);
    for (const [n, { replyToken }] of events.entries())
      expect(await channel.deliver(delivery(`${n}`, { replyTo: { replyToken } }), signal)).toEqual({
        status: "sent",
      });
    expect(line.shown.map(({ how, text }) => `${how} ${text}`)).toEqual(
      Array.from({ length: 10 }, (_, n) => `reply ${n}`),
    );
    expect(pushes).toBe(0);
  });

  test("429, 500 and silence are tried again, a refusal is not", async () => {
    const old = () => delivery("x", { since: new Date(timers.now().getTime() - 120_000).toISOString() });
    line.faults.push(Response.json({ message: "limit" }, { status: 429, headers: { "retry-after": "7" } }));
    expect(await channel.deliver(old(), signal)).toMatchObject({ status: "later", afterMs: 7000 });
    line.faults.push(new Response("", { status: 500 }));
    expect(await channel.deliver(old(), signal)).toMatchObject({ status: "later" });
    line.faults.push(Response.json({ message: "no" }, { status: 400 }));
    expect(await channel.deliver(old(), signal)).toMatchObject({ status: "impossible" });
    line.stop();
    expect(await channel.deliver(old(), signal)).toMatchObject({ status: "later" });
  });

  test("a long answer is cut at sensible places, at most five messages, with a link to the rest", async () => {
    await send(event());
    const paragraph = `${"あ".repeat(900)}。\n\n`;
    const jobs = [{ job_id: "job_1" }] as never;
    await channel.deliver(delivery(reply(paragraph.repeat(40), { jobs })), signal);
    expect(line.shown.length).toBe(5);
    expect(line.shown[0]?.text.endsWith("。")).toBe(true);
    expect(line.shown.at(-1)?.text).toContain("https://console.example/jobs/job_1");
  });

  test("Markdown is plain text there, and a long difference is an extract", async () => {
    await send(event());
    const diff = Array.from({ length: 40 }, (_, i) => `+line ${i}`).join("\n");
    await channel.deliver(
      delivery(`## 結果\n**太字** と \`code\`\n\n\`\`\`diff\n${diff}\n\`\`\`\n終わり`),
      signal,
    );
    const [shown] = line.shown;
    expect(shown?.text.startsWith("結果\n太字 と code\n\n+line 0")).toBe(true);
    expect(shown?.text).not.toContain("+line 20");
    expect(shown?.text.endsWith("…\n終わり")).toBe(true);
  });

  test("its health names the service and the pushes used", async () => {
    pushes = 3;
    expect(await channel.check(signal)).toEqual({ ok: true, detail: "push 3/200" });
    line.stop();
    expect((await channel.check(signal)).ok).toBe(false);
  });
});
