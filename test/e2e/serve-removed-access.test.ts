/** Tokens and people that are removed while something of theirs waits, runs or streams. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ApiToken, InboundMessage } from "../../src/application/ports/serve.ts";
import { createMayStillWrite } from "../../src/application/serve/access.ts";
import { createServer, type Server } from "../adapters/web/web-kit.ts";

let server: Server;
let operator: string;
beforeAll(async () => {
  server = await createServer({
    script: [{ when: { message: "/hang$/" }, text: "late", delay_ms: 120_000 }, { text: "re: {{message}}" }],
  });
  operator = server.token("--scope", "read,chat,jobs,mcp");
}, 300_000);
afterAll(() => server.close());

const call = async (token: string, path: string, body?: object) => {
  const response = await fetch(`${server.url}/api/v1/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return (await response.json()) as {
    message_id: string;
    state: string;
    reply: { text: string; ok: boolean } | null;
  };
};
const reach = async (id: string, state: string) => {
  for (;;) {
    const message = await call(operator, `messages/${id}`);
    if (message.state === state) return message;
    await Bun.sleep(30);
  }
};
const create = (...args: string[]) =>
  JSON.parse(server.run(["serve", "token", "create", "t", "--json", ...args]).out) as {
    id: string;
    token: string;
  };

test("a message that waited is ended with the reason, and not carried out, when its token is removed; others are", async () => {
  const { id, token } = create("--user", "dora", "--scope", "read,chat");
  const other = create("--user", "dora", "--scope", "read,chat").token;
  const running = await call(token, "messages", { chat: "c1", text: "hang" });
  await reach(running.message_id, "working");
  const waiting = await call(token, "messages", { chat: "c1", text: "hello" });
  const stays = await call(other, "messages", { chat: "c1", text: "hello too" });
  expect(server.run(["serve", "token", "remove", id]).code).toBe(0);
  await call(operator, `messages/${running.message_id}/stop`, {});
  const ended = await reach(waiting.message_id, "done");
  expect([ended.reply?.ok, ended.reply?.text]).toEqual([
    false,
    "This message was not carried out: access was removed from its sender, or the token it was sent with, while it waited.",
  ]);
  expect((await reach(stays.message_id, "done")).reply?.text).toContain("re: hello too");
}, 300_000);

test("a person who is removed may not write with what waits; schedules of the configuration have no sender", async () => {
  const may = createMayStillWrite(
    { tokens: async () => [{ id: "tok_1" } as ApiToken] },
    async (channel, userId) => channel === "web" || userId === "U1",
  );
  const message = (more: Partial<InboundMessage>): InboundMessage => ({
    ...{ channel: "slack", chatId: "D1", userId: "U1", eventId: "Ev1", text: "x" },
    ...more,
  });
  const gone = { userId: "U2" };
  expect(await Promise.all([message({}), message(gone)].map(may))).toEqual([true, false]);
  const fired = (name: string) => message({ ...gone, eventId: `schedule:${name}:2026-01-01T00:00:00.000Z` });
  expect(await Promise.all([fired("morning"), fired("chat/1")].map(may))).toEqual([true, false]);
  const by = (token: string) => message({ channel: "web", replyTo: { token } });
  expect(await Promise.all([by("tok_1"), by("tok_2")].map(may))).toEqual([true, false]);
});

test("an MCP session ends with its token: its stream is closed, and its call does not land", async () => {
  const { id, token } = create("--scope", "mcp");
  const send = (body: object | null, session?: string) =>
    fetch(`${server.url}/mcp`, {
      method: body === null ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${token}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...(session !== undefined && { "mcp-session-id": session }),
      },
      ...(body !== null && { body: JSON.stringify({ jsonrpc: "2.0", ...body }) }),
    });
  const clientInfo = { name: "t", version: "1" };
  const began = await send({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
  });
  const session = began.headers.get("mcp-session-id") ?? "";
  await began.text();
  await (await send({ method: "notifications/initialized" }, session)).text();
  const stream = await send(null, session);
  expect(stream.status).toBe(200);
  const slow = "touch began; while [ ! -e ../go ]; do sleep 0.1; done; touch landed";
  const params = { name: "execute_command", arguments: { command: slow } };
  const asked = await send({ id: 2, method: "tools/call", params }, session);
  const over = [stream, asked].map((one) => one.text().catch(() => "broken"));
  expect(server.run(["serve", "token", "remove", id]).code).toBe(0);
  const removed = performance.now();
  await Promise.all(over);
  expect(performance.now() - removed).toBeLessThan(20_000);
  const jobs = await call(operator, "jobs");
  expect(JSON.stringify(jobs)).not.toContain('"committed"');
  expect(existsSync(join(server.workspace, "landed"))).toBe(false);
  expect((await send({ id: 3, method: "tools/list" }, session)).status).toBe(401);
}, 300_000);

test("a schedule ends with the token by which it was made; one of another token is posted", async () => {
  const { id, token } = create("--user", "eve", "--scope", "read,chat");
  const kept = create("--user", "fay", "--scope", "read,chat");
  for (const one of [token, kept.token])
    await call(one, "messages", { text: "/schedule * * * * *: say hello", wait: 20 });
  expect(server.run(["serve", "token", "remove", id]).code).toBe(0);
  const texts = async (person: string) => {
    const { messages } = (await call(operator, `sessions/web/${person}`)) as never as {
      messages: { text: string }[];
    };
    return messages.map(({ text }) => text);
  };
  // Both were due at the same minute, the removed one first.
  while (!(await texts("fay")).includes("say hello")) await Bun.sleep(200);
  expect(await texts("eve")).not.toContain("say hello");
}, 300_000);
