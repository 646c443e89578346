import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createSlackChannel } from "../../../../src/adapters/channels/slack-channel.ts";
import { createSlackApp, type SlackApp } from "../../../../src/adapters/channels/slack-events.ts";
import type { Channel, InboundMessage } from "../../../../src/application/ports/serve.ts";
import { channelMessagesFor } from "../../../../src/domain/texts/channels.ts";
import { startSlack } from "../../../fakes/slack/slack-server.ts";
import { createManualTimers } from "../../../fakes/timers.ts";

const TOKENS = { botToken: "xoxb-test", appToken: "xapp-test" };
const MINUTE = 60_000;

describe("Slack's Socket Mode", () => {
  let slack: ReturnType<typeof startSlack>;
  let timers: ReturnType<typeof createManualTimers>;
  let app: SlackApp;
  let channel: Channel;
  let received: InboundMessage[];
  let troubles: unknown[];

  beforeEach(() => {
    slack = startSlack(TOKENS);
    timers = createManualTimers();
    received = [];
    troubles = [];
    const texts = () => channelMessagesFor("en");
    app = createSlackApp({
      ...TOKENS,
      signingSecret: null,
      apiUrl: slack.url,
      receive: async (message) => {
        received.push(message);
        return { status: "accepted", messageId: "msg_1" };
      },
      texts,
      timers,
      onTrouble: (error) => void troubles.push(error),
    });
    channel = createSlackChannel({
      client: app.client,
      texts,
      timers,
      describe: () => null,
      files: { token: TOKENS.botToken, apiUrl: slack.url },
      socketTrouble: app.socketTrouble,
      onClose: () => app.stop(),
    });
  });
  afterEach(async () => {
    await channel.close();
    slack.stop();
  });

  const event = (id: string) => ({
    team_id: "T1",
    type: "event_callback",
    event_id: id,
    authorizations: [],
    event: { type: "message", channel_type: "im", channel: "D1", user: "Ualice", text: id, ts: "1.1" },
  });
  const until = async (holds: () => boolean) => {
    while (!holds()) await Bun.sleep(5);
  };
  const hearsAgain = async (id: string) => {
    slack.push("events_api", event(id));
    await until(() => received.some(({ eventId }) => eventId === id));
    expect(await channel.check(new AbortController().signal)).toEqual({ ok: true, detail: "team picoclaw" });
  };

  test("a frame of any shape ends nothing, and one that names its envelope is acknowledged", async () => {
    await app.start();
    const named = (id: string, rest: string) => `{"envelope_id":"${id}",${rest}}`;
    for (const frame of [
      "no JSON",
      "null",
      "5",
      "[]",
      "{}",
      '"text"',
      new Uint8Array([1, 2, 3]),
      '{"type":"hello"}',
      '{"envelope_id":{"a":1},"type":"events_api","payload":{}}',
      named("z".repeat(100_000), '"type":"events_api","payload":{}'),
      named("a1", '"type":null'),
      named("a2", '"type":"events_api"'),
      named("a3", '"type":"events_api","payload":null'),
      named("a4", '"type":"events_api","payload":"x"'),
      named("a5", '"type":"events_api","payload":{"type":"event_callback","event":null}'),
      named("a6", '"type":"slash_commands","payload":null'),
      named("a7", '"type":"interactive","payload":{"type":"block_actions","actions":[null]}'),
      named("a8", '"type":"events_api","payload":{"event":{"type":"ws_message"}}'),
      named("a9", `"type":"events_api","payload":${"[".repeat(200_000)}${"]".repeat(200_000)}`),
      named("b1", `"type":"events_api","payload":{"x":"${"y".repeat(2 * 1024 ** 2)}"}`),
      named("b2", `"type":"events_api","payload":[${"1,".repeat(400_000)}1]`),
    ])
      slack.pushFrame(frame);
    await hearsAgain("Ev1");
    await until(() => slack.acks.length >= 12);
    const ids = slack.acks.map(({ envelope_id: id }) => id).filter((id) => id.length === 2);
    expect(ids.sort()).toEqual(["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b1", "b2"]);
    expect(slack.acks.length).toBe(12);
    expect(received.length).toBe(1);
    expect(troubles).toEqual([]);
  });

  test("a token that is refused at a new connection is said, and ends nothing", async () => {
    await app.start();
    slack.faults.push({
      method: "apps.connections.open",
      answer: () => Response.json({ ok: false, error: "invalid_auth" }),
    });
    slack.hangUp();
    await until(() => troubles.length === 1);
    await timers.advance(1000);
    await until(() => troubles.length === 2);
    const trouble = { detail: "apps.connections.open: invalid_auth", remedy: "SLACK_APP_TOKEN" };
    expect(await channel.check(new AbortController().signal)).toEqual({ ok: false, ...trouble });
    await timers.advance(MINUTE);
    await until(() => app.socketTrouble() === null);
    await hearsAgain("Ev1");
  });

  for (const [name, answer] of [
    [
      "a limit of a thousand years",
      () => new Response("", { status: 429, headers: { "retry-after": "99999999999" } }),
    ],
    [
      "a limit that is no number",
      () => new Response("", { status: 429, headers: { "retry-after": "soon" } }),
    ],
    ["a page", () => new Response("<html></html>", { headers: { "content-type": "text/html" } })],
    ["nothing", () => Response.json(null)],
    ["no address", () => Response.json({ ok: true })],
    ["an address of something else", () => Response.json({ ok: true, url: "file:///etc/passwd" })],
    ["an address where nobody is", () => Response.json({ ok: true, url: "ws://127.0.0.1:1/" })],
    ["an error", () => new Response("", { status: 500 })],
  ] as const)
    test(`asked for a connection, Slack answers with ${name}: it is asked again, and the channel is not ready`, async () => {
      slack.faults.push({ method: "apps.connections.open", answer });
      await app.start();
      expect(await channel.check(new AbortController().signal)).toMatchObject({ ok: false });
      expect(troubles.length).toBe(1);
      await timers.advance(5 * MINUTE);
      await until(() => app.socketTrouble() === null);
      await hearsAgain("Ev1");
    });

  test("connections that end at once are opened again after growing pauses", async () => {
    await app.start();
    const attempts = () => slack.calls.filter((call) => call === "apps.connections.open").length;
    for (let times = 1; times < 6; times += 1) {
      slack.hangUp();
      await until(() => troubles.length === times);
      await timers.advance(1000 * 2 ** (times - 1));
      await until(() => attempts() === times + 1 && app.socketTrouble() === null);
    }
    slack.hangUp();
    await until(() => troubles.length === 6);
    await timers.advance(31_000);
    expect(attempts()).toBe(6);
    await timers.advance(1000);
    await until(() => attempts() === 7 && app.socketTrouble() === null);
    await hearsAgain("Ev1");
  });

  test("a new connection that Slack asks for is opened at once, and is not a problem", async () => {
    await app.start();
    await timers.advance(MINUTE / 4);
    slack.pushFrame('{"type":"disconnect","reason":"refresh_requested","debug_info":{}}');
    await until(() => slack.connections() === 2 && app.socketTrouble() === null);
    await hearsAgain("Ev1");
    expect(troubles).toEqual([]);
  });

  test("a server that stops waits for no address", async () => {
    const asked = Promise.withResolvers<void>();
    const never = Promise.withResolvers<Response>();
    slack.faults.push({
      method: "apps.connections.open",
      answer: () => {
        asked.resolve();
        return never.promise;
      },
    });
    const started = app.start();
    await asked.promise;
    await channel.close();
    await started;
    never.resolve(new Response(""));
    expect(troubles).toEqual([]);
  });

  test("a connection without traffic is given up", async () => {
    const silent = createServer(greetAndFallSilent);
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    slack.faults.push({
      method: "apps.connections.open",
      answer: () => Response.json({ ok: true, url: `ws://127.0.0.1:${port}/` }),
    });
    try {
      await app.start();
      expect(app.socketTrouble()).toBeNull();
      await timers.advance(MINUTE);
      await until(() => troubles.length > 0);
      expect(troubles).toEqual(["Slack has fallen silent"]);
      await until(() => slack.connections() === 1 && app.socketTrouble() === null);
      await hearsAgain("Ev1");
    } finally {
      silent.close();
    }
  });
});

/** Takes a WebSocket, says hello, and neither answers pings nor says goodbye. */
function greetAndFallSilent(socket: Socket): void {
  socket.on("error", () => {});
  socket.once("data", (request) => {
    const key = /sec-websocket-key: (.+)\r/i.exec(String(request))?.[1] ?? "";
    const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    const hello = '{"type":"hello"}';
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.write(Buffer.concat([Buffer.from([0x81, hello.length]), Buffer.from(hello)]));
  });
}
