import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import {
  createSlackChannel,
  fromSlackText,
  toMrkdwn,
} from "../../../../src/adapters/channels/slack-channel.ts";
import { createSlackApp, type SlackApp } from "../../../../src/adapters/channels/slack-events.ts";
import type { Reply } from "../../../../src/application/ports/chat.ts";
import type { Timers } from "../../../../src/application/ports/platform.ts";
import type {
  Channel,
  Delivery,
  InboundMessage,
  ReceiveResult,
  StoredMessage,
} from "../../../../src/application/ports/serve.ts";
import { channelMessagesFor } from "../../../../src/domain/texts/channels.ts";
import { discardedPiece } from "../../../fakes/conversation.ts";
import { PNG } from "../../../fakes/pictures.ts";
import { startSlack } from "../../../fakes/slack/slack-server.ts";
import { createManualTimers, settle } from "../../../fakes/timers.ts";

const TOKENS = { botToken: "xoxb-test", appToken: "xapp-test" };
const SIGNING = "signing-secret";
const realTimers: Timers = {
  now: () => new Date(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

describe("Slack", () => {
  let slack: ReturnType<typeof startSlack>;
  let app: SlackApp;
  let channel: Channel;
  let received: InboundMessage[];
  let answer: (message: InboundMessage) => ReceiveResult | Error;
  let arrived: () => void;
  const timers = createManualTimers();
  const { signal } = new AbortController();

  const begin = (appToken: string | null, clock: Timers = timers) => {
    app = createSlackApp({
      botToken: TOKENS.botToken,
      appToken,
      signingSecret: SIGNING,
      apiUrl: slack.url,
      receive: async (message) => {
        const outcome = answer(message);
        if (outcome instanceof Error) throw outcome;
        received.push(message);
        arrived();
        return outcome;
      },
      texts: () => channelMessagesFor("en"),
      timers: clock,
      onTrouble: () => {},
    });
    channel = createSlackChannel({
      client: app.client,
      texts: () => channelMessagesFor("en"),
      timers: clock,
      describe: ({ type }) => type,
      files: { token: TOKENS.botToken, apiUrl: slack.url },
      socketTrouble: app.socketTrouble,
      onClose: () => app.stop(),
    });
  };
  beforeEach(() => {
    slack = startSlack(TOKENS);
    received = [];
    answer = () => ({ status: "accepted", messageId: "msg_1" });
    arrived = () => {};
    begin(null);
  });
  afterEach(async () => {
    await channel.close();
    slack.stop();
  });

  const post = (
    body: string,
    {
      type = "application/json",
      at = Math.floor(Date.now() / 1000),
      secret = SIGNING,
      headers = {} as Record<string, string>,
    } = {},
  ) => {
    const signature = `v0=${createHmac("sha256", secret).update(`v0:${at}:${body}`).digest("hex")}`;
    const request = new Request("http://localhost/webhooks/slack", {
      method: "POST",
      body,
      headers: {
        "content-type": type,
        "x-slack-signature": signature,
        "x-slack-request-timestamp": String(at),
        ...headers,
      },
    });
    return app.webhook?.(request) as Promise<Response>;
  };
  const event = (more: object, id = "Ev1") => ({
    token: "x",
    team_id: "T1",
    api_app_id: "A1",
    type: "event_callback",
    event_id: id,
    event_time: 1,
    authorizations: [],
    event: {
      type: "app_mention",
      user: "Ualice",
      text: "<@UBOT> fix it",
      ts: "1700000001.000100",
      channel: "C1",
      event_ts: "1700000001.000100",
      ...more,
    },
  });
  const reply = (text: string, more: Partial<Reply> = {}): Reply => ({
    text,
    ok: true,
    sessionId: "s",
    jobs: [],
    actions: [],
    ...more,
  });
  const place = { channel: "C1", thread: "1700000001.000100" };
  const delivery = (content: string | Reply, more: Partial<Delivery> = {}): Delivery => ({
    key: crypto.randomUUID(),
    channel: "slack",
    chatId: "C1:1700000001.000100",
    userId: "Ualice",
    messageId: "msg_1",
    content: { kind: "reply", reply: typeof content === "string" ? reply(content) : content },
    replyTo: place,
    since: new Date().toISOString(),
    attempt: 1,
    ...more,
  });
  const stored = (id = "msg_1"): StoredMessage => ({
    id,
    workspace: "/ws",
    channel: "slack",
    eventId: "Ev1",
    chatId: "C1:1700000001.000100",
    userId: "Ualice",
    text: "x",
    receivedAt: "",
    state: "working",
    attempts: 1,
    replyTo: place,
  });

  test("a mention is stored, its thread is its chat, and then it is acknowledged", async () => {
    expect((await post(JSON.stringify(event({})))).status).toBe(200);
    expect(received).toEqual([
      {
        channel: "slack",
        eventId: "Ev1",
        chatId: "C1:1700000001.000100",
        userId: "Ualice",
        text: "fix it",
        replyTo: place,
      },
    ]);
    await post(JSON.stringify(event({ thread_ts: "1700000000.000000" }, "Ev2")));
    expect(received[1]?.chatId).toBe("C1:1700000000.000000");
  });

  test("what cannot be stored is not acknowledged, so that Slack sends it again", async () => {
    answer = () => new Error("disk full");
    expect((await post(JSON.stringify(event({})))).status).toBe(500);
  });

  test("a forged, stale, future or missing signature is refused", async () => {
    const body = JSON.stringify(event({}));
    expect((await post(body, { secret: "guess" })).status).toBe(401);
    expect((await post(body, { at: Math.floor(Date.now() / 1000) - 600 })).status).toBe(401);
    expect((await post(body, { at: Math.floor(Date.now() / 1000) + 86_400 })).status).toBe(401);
    const bare = new Request("http://localhost/", { method: "POST", body });
    expect((await app.webhook?.(bare))?.status).toBe(401);
    expect(received).toEqual([]);
  });

  test("the address is verified as Slack asks; a body that is not JSON is a bad request", async () => {
    const response = await post(JSON.stringify({ type: "url_verification", challenge: "abc" }));
    expect(await response.json()).toEqual({ challenge: "abc" });
    expect((await post("{")).status).toBe(400);
  });

  test("events, buttons and commands of another team that has the app are not its own people's", async () => {
    const form = "application/x-www-form-urlencoded";
    const command = { command: "/picoclaw", text: "/code3 x", channel_id: "C1", user_id: "Ualice" };
    const asked = (team: string) => new URLSearchParams({ ...command, trigger_id: team, team_id: team });
    const button = { type: "button", action_id: "picoclaw:0", value: "/undo", action_ts: "9.9" };
    const pressed = (team: string) => {
      const place = { user: { id: "Ualice" }, channel: { id: "C1" } };
      const payload = { type: "block_actions", team: { id: team }, ...place, actions: [button] };
      return new URLSearchParams({ payload: JSON.stringify(payload) });
    };
    const sendAll = async (team: string) => [
      (await post(JSON.stringify({ ...event({}, team), team_id: team }))).status,
      (await post(asked(team).toString(), { type: form })).status,
      (await post(pressed(team).toString(), { type: form })).status,
    ];
    expect(await sendAll("T666")).toEqual([200, 200, 200]);
    expect(received).toEqual([]);
    expect(await sendAll("T1")).toEqual([200, 200, 200]);
    expect(received.map(({ text }) => text)).toEqual(["fix it", "/code3 x", "/undo"]);
  });

  test("in a channel that teams share, the installation that may see an event decides", async () => {
    const shared = (id: string, seen: string) => ({
      ...event({}, id),
      team_id: "T666",
      authorizations: [{ team_id: seen, enterprise_id: null, user_id: "UBOT", is_bot: true }],
    });
    await post(JSON.stringify(shared("Ev1", "T666")));
    await post(JSON.stringify(shared("Ev2", "T1")));
    expect(received.map(({ eventId }) => eventId)).toEqual(["Ev2"]);
  });

  test("while Slack does not say which team the token is for, an event is not acknowledged", async () => {
    slack.faults.push({ method: "auth.test", answer: () => new Response("", { status: 503 }) });
    expect((await post(JSON.stringify(event({})))).status).toBe(500);
    expect((await post(JSON.stringify(event({})))).status).toBe(200);
    expect(received.length).toBe(1);
    expect(slack.calls).toEqual(["auth.test", "auth.test"]);
  });

  test("a direct message is a chat of its own; what bots and edits say is passed over", async () => {
    const im = { type: "message", channel: "D1", channel_type: "im", text: "hello" };
    await post(JSON.stringify(event(im)));
    await post(JSON.stringify(event({ ...im, subtype: "message_changed" }, "Ev2")));
    await post(JSON.stringify(event({ ...im, bot_id: "B9" }, "Ev3")));
    await post(JSON.stringify(event({ ...im, channel: "C1", channel_type: "channel" }, "Ev4")));
    expect(received).toMatchObject([{ chatId: "D1", text: "hello", replyTo: { channel: "D1" } }]);
  });

  test("a direct message with a file, and one from a thread to all, are heard", async () => {
    const im = { type: "message", channel: "D1", channel_type: "im", text: "look" };
    const files = [{ name: "error.log", mimetype: "text/plain", size: 42 }];
    await post(JSON.stringify(event({ ...im, subtype: "file_share", files })));
    await post(JSON.stringify(event({ ...im, subtype: "thread_broadcast", thread_ts: "17.1" }, "Ev2")));
    expect(received).toMatchObject([
      { text: "look", attachments: [{ name: "error.log", mediaType: "text/plain", sizeBytes: 42 }] },
      { text: "look", chatId: "D1:17.1" },
    ]);
  });

  test("an image is fetched from Slack with the bot's token, and from nowhere else", async () => {
    slack.contents.set("a.png", PNG);
    const url = `${new URL(slack.url).origin}/files/a.png`;
    const files = [{ name: "a.png", mimetype: "image/png", size: 70, url_private: url }];
    const im = { type: "message", channel: "D1", channel_type: "im", text: "", subtype: "file_share", files };
    await post(JSON.stringify(event(im)));
    expect(received).toMatchObject([
      { attachments: [{ name: "a.png", mediaType: "image/png", remote: url }] },
    ]);
    expect(await channel.download?.(url, 1_000, signal)).toEqual({ ok: true, bytes: PNG });
    const elsewhere = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(PNG) });
    try {
      const refused = await channel.download?.(`${elsewhere.url}a.png`, 1_000, signal);
      expect(refused).toMatchObject({ ok: false, reason: "its address is not Slack's" });
    } finally {
      await elsewhere.stop(true);
    }
  });

  test("an app that may not read files reports which right it lacks", async () => {
    const other = createSlackChannel({
      client: app.client,
      texts: () => channelMessagesFor("en"),
      timers,
      describe: () => null,
      files: { token: "xoxb-other", apiUrl: slack.url },
      socketTrouble: () => null,
      onClose: async () => {},
    });
    const url = `${new URL(slack.url).origin}/files/a.png`;
    expect(await other.download?.(url, 1_000, signal)).toEqual({
      ok: false,
      reason: "a login is asked for; the Slack app needs the permission files:read",
    });
  });

  test("another person may be mentioned before the bot", async () => {
    const both = event({ text: "<@UBOB> <@UBOT> fix it" });
    await post(
      JSON.stringify({ ...both, authorizations: [{ team_id: "T1", user_id: "UBOT", is_bot: true }] }),
    );
    expect(received).toMatchObject([{ text: "@UBOB fix it" }]);
  });

  test("the slash command is stored and acknowledged with a word; without a message it says how", async () => {
    const form = (text: string) =>
      new URLSearchParams({
        command: "/picoclaw",
        text,
        channel_id: "C1",
        user_id: "Ualice",
        trigger_id: "t1",
        team_id: "T1",
        response_url: "http://x/",
      }).toString();
    const type = "application/x-www-form-urlencoded";
    expect(await (await post(form("/undo"), { type })).text()).toContain("Got it");
    expect(received).toMatchObject([{ text: "/undo", chatId: "C1", eventId: "command:t1" }]);
    expect(await (await post(form(" "), { type })).text()).toContain("Usage");
  });

  test("a pressed button is its message, in the button's thread", async () => {
    const payload = {
      type: "block_actions",
      team: { id: "T1" },
      user: { id: "Ualice" },
      channel: { id: "C1" },
      message: { ts: "1700000002.000100", thread_ts: "1700000001.000100" },
      actions: [{ type: "button", block_id: "b", action_id: "picoclaw:0", value: "/undo", action_ts: "9.9" }],
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    expect((await post(body, { type: "application/x-www-form-urlencoded" })).status).toBe(200);
    expect(received).toMatchObject([{ text: "/undo", chatId: "C1:1700000001.000100", userId: "Ualice" }]);
  });

  test("a stranger alone sees the answer to them", async () => {
    answer = () => ({ status: "refused", reason: "stranger", text: "code 1234" });
    await post(JSON.stringify(event({})));
    expect(slack.messages).toMatchObject([{ ephemeralTo: "Ualice", text: "code 1234" }]);
  });

  test("Slack fetches no address in a message, whether it is posted, replaced, or for one person alone", async () => {
    channel.progress?.(stored(), word("https://x.example/?secret=2 "));
    await updated(1);
    await channel.deliver(delivery("https://x.example/?secret=3"), signal);
    await channel.deliver(delivery("https://x.example/?secret=4", { messageId: "msg_2" }), signal);
    answer = () => ({ status: "refused", reason: "stranger", text: "https://x.example/?secret=1" });
    await post(JSON.stringify(event({})));
    expect(slack.messages.map(({ previews }) => previews)).toEqual([false, false, false]);
  });

  test("over a socket an event is acknowledged after it was stored, and not when it was not", async () => {
    await channel.close();
    begin(TOKENS.appToken);
    await app.start();
    await slack.connected;
    const done = Promise.withResolvers<void>();
    arrived = () => done.resolve();
    const id = slack.push("events_api", event({}));
    await done.promise;
    while (slack.acks.length === 0) await Bun.sleep(10);
    expect(slack.acks.map(({ envelope_id }) => envelope_id)).toEqual([id]);
    answer = () => new Error("disk full");
    slack.push("events_api", event({}, "Ev2"));
    answer = (message) =>
      message.eventId === "Ev2" ? new Error("disk full") : { status: "accepted", messageId: "m" };
    const third = slack.push("events_api", event({}, "Ev3"));
    while (slack.acks.length < 2) await Bun.sleep(10);
    expect(slack.acks.map(({ envelope_id }) => envelope_id)).toEqual([id, third]);
  });

  test("a reply is one message in its thread, with buttons, who answered, and its key", async () => {
    const content = reply("**done** <b> & `x<y`", {
      actions: [{ label: "Undo", message: "/undo" }],
      model: { provider: "ollama", model: "chat-v1", local: true },
    });
    const sent = delivery(content);
    expect(await channel.deliver(sent, signal)).toEqual({ status: "sent" });
    const [message] = slack.messages;
    expect(message).toMatchObject({
      channel: "C1",
      thread: "1700000001.000100",
      metadata: { event_payload: { key: sent.key } },
    });
    expect(JSON.stringify(message?.blocks)).toContain("*done* &lt;b&gt; &amp; `x&lt;y`");
    expect(JSON.stringify(message?.blocks)).toContain('"value":"/undo"');
    expect(JSON.stringify(message?.blocks)).toContain("ollama/chat-v1 (local)");
  });

  test("what streams is updated at a polite rate, and the result takes its place", async () => {
    for (let i = 0; i < 50; i++)
      channel.progress?.(stored(), { type: "text", agent: "Mio", text: `word${i} ` });
    while ((slack.messages[0]?.updates ?? 0) === 0) await Bun.sleep(10);
    expect(slack.messages.length).toBe(1);
    expect(slack.messages[0]?.updates).toBe(1);
    await timers.advance(1500);
    for (let i = 0; i < 20; i++) await Bun.sleep(5);
    expect(slack.messages[0]?.updates).toBeLessThanOrEqual(2);
    await channel.deliver(delivery("the end"), signal);
    expect(slack.messages.length).toBe(1);
    expect(slack.messages[0]?.text).toBe("the end");
  });

  const word = (text: string) => ({ type: "text", agent: "Mio", text }) as const;
  const updated = async (times: number) => {
    while ((slack.messages[0]?.updates ?? 0) < times) await Bun.sleep(5);
  };

  test("nothing follows the result: an update that waited for its turn is dropped", async () => {
    begin(null, realTimers);
    channel.progress?.(stored(), word("first "));
    await updated(1);
    channel.progress?.(stored(), word("second "));
    expect(await channel.deliver(delivery("the end"), signal)).toEqual({ status: "sent" });
    channel.progress?.(stored(), word("too late"));
    const calls = slack.calls.length;
    await Bun.sleep(2_000);
    expect(slack.messages.map(({ text }) => text)).toEqual(["the end"]);
    expect(slack.calls.length).toBe(calls);
  });

  test("nothing follows the result: an update in flight is waited for", async () => {
    begin(null, realTimers);
    const held = Promise.withResolvers<"late">();
    slack.faults.push({ method: "chat.update", answer: () => held.promise });
    channel.progress?.(stored(), word("first "));
    while (!slack.calls.includes("chat.update")) await Bun.sleep(5);
    channel.progress?.(stored(), word("second "));
    const sent = channel.deliver(delivery("the end"), signal);
    await Bun.sleep(50);
    held.resolve("late");
    expect(await sent).toEqual({ status: "sent" });
    await Bun.sleep(2_000);
    expect(slack.messages.map(({ text }) => text)).toEqual(["the end"]);
  });

  test("an update that does not end cannot touch the result: it gets a message of its own", async () => {
    const held = Promise.withResolvers<"late">();
    slack.faults.push({ method: "chat.update", answer: () => held.promise });
    channel.progress?.(stored(), word("first "));
    while (!slack.calls.includes("chat.update")) await Bun.sleep(5);
    const sent = channel.deliver(delivery("the end"), signal);
    await settle();
    await timers.advance(60_000);
    expect(await sent).toEqual({ status: "sent" });
    held.resolve("late");
    await updated(1);
    expect(slack.messages.map(({ text }) => text)).toEqual([expect.stringContaining("orking"), "the end"]);
  });

  test("the result of one message leaves what streams for the next of its chat alone", async () => {
    channel.progress?.(stored("msg_1"), word("first "));
    await updated(1);
    channel.progress?.(stored("msg_2"), word("next "));
    while ((slack.messages[1]?.updates ?? 0) < 1) await Bun.sleep(5);
    await channel.deliver(delivery("the end"), signal);
    expect(slack.messages.map(({ text }) => text)).toEqual(["the end", expect.stringContaining("orking")]);
  });

  test("a result that could not be sent at once still takes the place of what streamed", async () => {
    channel.progress?.(stored(), word("first "));
    await updated(1);
    const slow = () => new Response("", { status: 429, headers: { "retry-after": "7" } });
    slack.faults.push({ method: "chat.update", answer: slow });
    expect(await channel.deliver(delivery("the end"), signal)).toMatchObject({ afterMs: 7000 });
    expect(await channel.deliver(delivery("the end"), signal)).toEqual({ status: "sent" });
    expect(slack.messages.map(({ text }) => text)).toEqual(["the end"]);
  });

  test("the message whose button was pressed shows what can be done with its job now", async () => {
    const button = (label: string, message: string) => ({ label, message });
    const first = reply("done", {
      actions: [
        button("Undo", "/undo job_1"),
        button("Diff", "/diff job_1"),
        button("Remember", "/remember"),
      ],
    });
    await channel.deliver(delivery(first), signal);
    const [message] = slack.messages;
    const payload = {
      type: "block_actions",
      team: { id: "T1" },
      user: { id: "Ualice" },
      channel: { id: "C1" },
      message: { ts: message?.ts, thread_ts: place.thread, text: message?.text, blocks: message?.blocks },
      actions: [
        { type: "button", block_id: "b", action_id: "picoclaw:0", value: "/undo job_1", action_ts: "9" },
      ],
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    await post(body, { type: "application/x-www-form-urlencoded" });
    const replyTo = received[0]?.replyTo ?? {};
    const answered = reply("taken back", { actions: [button("Redo", "/redo job_1")] });
    await channel.deliver(delivery(answered, { messageId: "msg_2", replyTo }), signal);
    const values = (n: number) =>
      JSON.stringify(slack.messages[n]?.blocks)
        .match(/"value":"[^"]+"/g)
        ?.map((one) => one.slice(9, -1));
    expect([slack.messages[0]?.text, values(0)]).toEqual(["done", ["/redo job_1", "/remember"]]);
    expect([slack.messages[1]?.text, values(1)]).toEqual(["taken back", ["/redo job_1"]]);
    await channel.deliver(delivery(reply("a diff"), { messageId: "msg_3", replyTo }), signal);
    expect(values(0)).toEqual(["/redo job_1", "/remember"]);
    const gone = reply("discarded", { said: [discardedPiece("job_1")] });
    await channel.deliver(delivery(gone, { messageId: "msg_4", replyTo }), signal);
    expect(values(0)).toEqual(["/remember"]);
  });

  test("after a death a reply that arrived is found by its key, one that did not is not", async () => {
    const sent = delivery("once");
    expect(await channel.wasDelivered?.(sent, signal)).toBe(false);
    slack.faults.push({ method: "chat.postMessage", answer: () => "arrived" });
    expect(await channel.deliver(sent, signal)).toMatchObject({ status: "later" });
    begin(null);
    expect(await channel.wasDelivered?.(sent, signal)).toBe(true);
  });

  test("after a crash the working indicator is taken over by the process that answers, or by the reply", async () => {
    channel.progress?.(stored(), word("first "));
    await updated(1);
    channel.progress?.(stored("msg_2"), word("second "));
    while (slack.messages.length < 2) await Bun.sleep(5);
    begin(null);
    channel.progress?.({ ...stored(), attempts: 2 }, word("again "));
    await updated(2);
    expect(await channel.deliver(delivery("the end"), signal)).toEqual({ status: "sent" });
    const late = delivery("stored before", { messageId: "msg_2", since: "2000-01-01T00:00:00.000Z" });
    expect(await channel.deliver(late, signal)).toEqual({ status: "sent" });
    expect(slack.messages.map(({ text }) => text)).toEqual(["the end", "stored before"]);
  });

  test("a rate limit is waited for as requested, a closed channel is the end, silence is retried", async () => {
    slack.faults.push({
      method: "chat.postMessage",
      answer: () => new Response("", { status: 429, headers: { "retry-after": "7" } }),
    });
    expect(await channel.deliver(delivery("x"), signal)).toMatchObject({ status: "later", afterMs: 7000 });
    slack.faults.push({
      method: "chat.postMessage",
      answer: () => Response.json({ ok: false, error: "is_archived" }),
    });
    expect(await channel.deliver(delivery("x"), signal)).toMatchObject({ status: "impossible" });
    slack.stop();
    expect(await channel.deliver(delivery("x"), signal)).toMatchObject({ status: "later" });
  });

  test("a long text is an extract and a file", async () => {
    const text = `${"a line of output\n".repeat(2000)}the last line`;
    await channel.deliver(delivery(text), signal);
    expect(JSON.stringify(slack.messages[0]?.blocks)).toContain("The full text is in the file.");
    expect(slack.files).toMatchObject([{ name: "picoclaw.md", channel: "C1", thread: "1700000001.000100" }]);
    expect(slack.files[0]?.text).toContain("the last line");
  });

  test("its health names the bot, and missing rights", async () => {
    expect(await channel.check(signal)).toEqual({ ok: true, detail: "team picoclaw" });
    slack.stop();
    expect(await channel.check(signal)).toMatchObject({ ok: false, remedy: "SLACK_BOT_TOKEN" });
  });
});

test("what Slack sends is what the person typed", () => {
  expect(
    fromSlackText(
      "see <https://x.example/?a=1&amp;b=2|x.example> &lt;b&gt; <@U1> <#C1|general> <!here> <mailto:a@b.c|a@b.c>",
    ),
  ).toBe("see https://x.example/?a=1&b=2 <b> @U1 #general @here a@b.c");
});

test("Markdown becomes Slack's dialect; code stays code, and no one is notified", () => {
  expect(
    toMrkdwn(
      "## Title\n- **a** [b](https://x.example/?q=1)\n`<!channel>`\n```diff\n-<a>\n+<b>\n```\n<!everyone>",
    ),
  ).toBe(
    "*Title*\n• *a* <https://x.example/?q=1|b>\n`&lt;!channel&gt;`\n```\n-&lt;a&gt;\n+&lt;b&gt;\n```\n&lt;!everyone&gt;",
  );
});
