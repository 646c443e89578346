/** Unsigned posts to a webhook cost a bounded memory, on a real socket. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { createWebhooks, forgeWebhook } from "../../../src/adapters/forges/webhooks.ts";
import { answerWebhook, createBodyGate } from "../../../src/adapters/web/request-bodies.ts";
import { sourceOf } from "../../../src/adapters/web/visitor.ts";
import { LARGEST_BODY_BYTES } from "../../../src/application/ports/platform.ts";
import { DELIVERY_FORMATS } from "../../../src/infrastructure/forges/forge-registry.ts";
import { listenHttp } from "../../../src/infrastructure/platform/http-server.ts";
import { until } from "../../e2e/cli-kit.ts";
import { createServer, type Server } from "./web-kit.ts";

const SECRET = "line-channel-secret";
let server: Server;
beforeAll(async () => {
  server = await createServer({
    env: { LINE_CHANNEL_SECRET: SECRET, LINE_CHANNEL_ACCESS_TOKEN: "line-access-token-of-a-test" },
  });
}, 300_000);
afterAll(() => server.close());

const residentBytes = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid()}/status`, "utf8"))?.[1]) * 1024;

/** Connections that each send most of a body and then keep silent. */
function strangers(count: number, sentBytes: number, headers: readonly string[], path = "/webhooks/line") {
  const answers: string[] = [];
  const sockets: Socket[] = [];
  const sent: Promise<unknown>[] = [];
  const bytes = Buffer.alloc(sentBytes, 120);
  for (let n = 0; n < count; n += 1) {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.on("data", (data) => answers.push(String(data).slice(9, 12)));
    socket.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers.join("\r\n")}\r\n\r\n`);
    sent.push(new Promise((resolve) => socket.write(bytes, resolve)));
    sockets.push(socket);
  }
  return { answers, sent, end: () => sockets.forEach((socket) => void socket.destroy()) };
}

const genuine = async () => {
  const body = JSON.stringify({ destination: "x", events: [] });
  const signature = createHmac("sha256", SECRET).update(body).digest("base64");
  const headers = { "x-line-signature": signature };
  return (await fetch(`${server.url}/webhooks/line`, { method: "POST", body, headers })).status;
};

test("without a signature, or with a length that is too large, nothing of a body is read", async () => {
  const before = residentBytes();
  const length = "Content-Length: 9500000";
  const unsigned = strangers(40, 9_000_000, [length]);
  const long = strangers(40, 9_000_000, [length, "x-line-signature: AAAA"]);
  await until(() => unsigned.answers.length === 40 && long.answers.length === 40);
  expect([new Set(unsigned.answers), new Set(long.answers)]).toEqual([new Set(["401"]), new Set(["413"])]);
  expect(residentBytes() - before).toBeLessThan(150 * 1024 ** 2);
  unsigned.end();
  long.end();
  expect(await genuine()).toBe(200);
}, 300_000);

test("bodies under a false signature share one budget, and give it back", async () => {
  const before = residentBytes();
  const many = strangers(200, 900_000, ["Content-Length: 1000000", "x-line-signature: AAAA"]);
  await until(() => many.answers.length > 150);
  expect(new Set(many.answers)).toEqual(new Set(["503"]));
  expect(residentBytes() - before).toBeLessThan(150 * 1024 ** 2);
  many.end();
  const deadline = Date.now() + 120_000;
  while ((await genuine()) !== 200)
    if (Date.now() > deadline) throw new Error("the budget was not given back");
}, 300_000);

test("a body without an announced length ends at its limit or at the budget, a slow one when its time is over", async () => {
  const gate = createBodyGate({ budgetBytes: 100, shareBytes: 100, mostOpen: 9, shareOpen: 9, readMs: 200 });
  const webhook = {
    signedBy: "signature",
    limitBytes: 60,
    answer: async (request: Request) => new Response(await request.text()),
  };
  const post = (bytes: number, ends = true) =>
    answerWebhook(
      gate,
      webhook,
      new Request("http://x/", {
        method: "POST",
        headers: { signature: "s" },
        body: new ReadableStream({
          start(controller) {
            controller.enqueue(new Uint8Array(bytes).fill(120));
            if (ends) controller.close();
          },
        }),
      }),
      "10.0.0.1",
    );
  const dripping = post(60, false);
  const [fits, long, crowded] = [await post(40), await post(61), await post(41)];
  expect([fits.status, (await fits.text()).length, long.status, crowded.status]).toEqual([200, 40, 413, 503]);
  expect((await dripping).status).toBe(408);
  expect((await post(60)).status).toBe(200);
});

test("one source has a share of the budget, and others the rest", async () => {
  const gate = createBodyGate({
    budgetBytes: 100,
    shareBytes: 40,
    mostOpen: 9,
    shareOpen: 9,
    readMs: 10_000,
  });
  const opened: ReadableStreamDefaultController[] = [];
  const webhook = { signedBy: "signature", limitBytes: 60, answer: async () => new Response("ok") };
  const post = (source: string, bytes: number, ends: boolean) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(bytes).fill(120));
        if (ends) controller.close();
        else opened.push(controller);
      },
    });
    const headers = { signature: "s" };
    return answerWebhook(gate, webhook, new Request("http://x/", { method: "POST", headers, body }), source);
  };
  const held = [post("10.0.0.1", 30, false), post("10.0.0.2", 40, false)];
  const statuses = [
    (await post("10.0.0.1", 11, true)).status,
    (await post("10.0.0.1", 10, true)).status,
    (await post("10.0.0.3", 30, true)).status,
    (await post("10.0.0.3", 31, true)).status,
  ];
  expect(statuses).toEqual([503, 200, 200, 503]);
  for (const controller of opened) controller.close();
  for (const one of held) expect((await one).status).toBe(200);
  expect((await post("10.0.0.1", 40, true)).status).toBe(200);
});

test("few bodies are read at once, of any length, and each source has a share of the places", async () => {
  const gate = createBodyGate({
    budgetBytes: 100,
    shareBytes: 100,
    mostOpen: 3,
    shareOpen: 2,
    readMs: 10_000,
  });
  const opened: ReadableStreamDefaultController[] = [];
  const post = (source: string, ends: boolean) => {
    const body = new ReadableStream({
      start(controller) {
        if (ends) controller.close();
        else opened.push(controller);
      },
    });
    const request = new Request("http://x/", { method: "POST", body });
    return gate(request, source, 60, async () => new Response("ok"));
  };
  const held = [post("10.0.0.1", false), post("10.0.0.1", false)];
  expect([(await post("10.0.0.1", true)).status, (await post("10.0.0.2", true)).status]).toEqual([503, 200]);
  held.push(post("10.0.0.2", false));
  expect((await post("10.0.0.3", true)).status).toBe(503);
  for (const controller of opened) controller.close();
  for (const one of held) expect((await one).status).toBe(200);
  expect((await post("10.0.0.1", true)).status).toBe(200);
});

test("a client with a token cannot fill the memory with bodies that never end", async () => {
  const before = residentBytes();
  const length = ["Content-Length: 9900000", "Authorization: Bearer of-somebody-or-nobody"];
  const many = strangers(200, 9_800_000, length, "/api/messages");
  await until(() => many.answers.length > 190);
  expect(new Set(many.answers)).toEqual(new Set(["503"]));
  expect(residentBytes() - before).toBeLessThan(200 * 1024 ** 2);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  many.end();
}, 300_000);

test("three thousand strangers with a megabyte each are turned away within the same bound", async () => {
  const before = residentBytes();
  const peaks: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    const many = strangers(500, 300_000, ["Content-Length: 1000000", "x-line-signature: AAAA"]);
    await until(() => many.answers.length > 450);
    peaks.push(residentBytes() - before);
    many.end();
  }
  expect(Math.max(...peaks)).toBeLessThan(250 * 1024 ** 2);
}, 300_000);

test("a source is an address or a network, and only a proxy on this machine speaks for others", () => {
  const source = (from: string, forwarded = "") =>
    sourceOf(from, new Headers(forwarded === "" ? {} : { "x-forwarded-for": forwarded }));
  expect(source("203.0.113.7", "198.51.100.1")).toBe("203.0.113.7");
  expect(source("127.0.0.1", "1.2.3.4, 198.51.100.1")).toBe("198.51.100.1");
  expect(source("::ffff:127.0.0.1", "198.51.100.1")).toBe("198.51.100.1");
  expect(source("127.0.0.1")).toBe("127.0.0.1");
  expect(source("2001:db8:1:2:3:4:5:6")).toBe(source("2001:db8:1:2:ffff::1"));
  expect(source("2001:db8:1:3::1")).not.toBe(source("2001:db8:1:2::1"));
});

test("the largest delivery of a forge that the server takes is the largest that the webhook takes", async () => {
  const intake = () => Promise.reject(new Error("nothing genuine came"));
  const settings = { secret: "s", site: "https://github.com" };
  const hook = forgeWebhook(
    "github",
    DELIVERY_FORMATS.github,
    createWebhooks({ forges: { github: settings, gitlab: null }, formats: DELIVERY_FORMATS, intake }),
  );
  const gate = createBodyGate({
    budgetBytes: 3e7,
    shareBytes: 3e7,
    mostOpen: 9,
    shareOpen: 9,
    readMs: 20_000,
  });
  const fetchOf = (request: Request, from: string) => answerWebhook(gate, hook, request, from);
  const at = { host: "127.0.0.1", port: 0, limitBytes: LARGEST_BODY_BYTES, fetch: fetchOf };
  const listening = listenHttp(at);
  const post = async (bytes: number) => {
    const headers = { [hook.signedBy]: "sha256=0" };
    const body = new Uint8Array(bytes).fill(120);
    const answer = await fetch(`http://127.0.0.1:${listening.port}/`, { method: "POST", headers, body });
    return answer.status;
  };
  // Read whole, and then refused for its signature.
  expect(await post(hook.limitBytes)).toBe(401);
  expect(await post(hook.limitBytes + 1)).toBe(413);
  await listening.close();
});
