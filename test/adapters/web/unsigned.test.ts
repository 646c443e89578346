/** What strangers post to a webhook costs a bounded memory, on a real socket. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { createUnsigned } from "../../../src/adapters/web/unsigned.ts";
import { until } from "../../e2e/cli-kit.ts";
import { createServer, type Server } from "./web-kit.ts";

const SECRET = "line-channel-secret";
let server: Server;
beforeAll(async () => {
  server = await createServer({
    env: { LINE_CHANNEL_SECRET: SECRET, LINE_CHANNEL_ACCESS_TOKEN: "line-access-token-of-a-test" },
  });
}, 30_000);
afterAll(() => server.close());

const residentBytes = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid()}/status`, "utf8"))?.[1]) * 1024;

/** Connections that each send most of a body and then keep silent. */
function strangers(count: number, sentBytes: number, headers: readonly string[]) {
  const answers: string[] = [];
  const sockets: Socket[] = [];
  const sent: Promise<unknown>[] = [];
  for (let n = 0; n < count; n += 1) {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.on("data", (data) => answers.push(String(data).slice(9, 12)));
    socket.write(`POST /webhooks/line HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers.join("\r\n")}\r\n\r\n`);
    sent.push(new Promise((resolve) => socket.write(Buffer.alloc(sentBytes, 120), resolve)));
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
  await until(() => unsigned.answers.length === 40 && long.answers.length === 40, 30_000);
  expect([new Set(unsigned.answers), new Set(long.answers)]).toEqual([new Set(["401"]), new Set(["413"])]);
  expect(residentBytes() - before).toBeLessThan(150 * 1024 ** 2);
  unsigned.end();
  long.end();
  expect(await genuine()).toBe(200);
}, 60_000);

test("bodies under a false signature share one budget, and give it back", async () => {
  const before = residentBytes();
  const many = strangers(200, 900_000, ["Content-Length: 1000000", "x-line-signature: AAAA"]);
  await until(() => many.answers.length > 150, 30_000);
  expect(new Set(many.answers)).toEqual(new Set(["503"]));
  expect(residentBytes() - before).toBeLessThan(150 * 1024 ** 2);
  many.end();
  const deadline = Date.now() + 20_000;
  while ((await genuine()) !== 200)
    if (Date.now() > deadline) throw new Error("the budget was not given back");
}, 60_000);

test("a body of no told length ends at its limit or at the budget, one that drips when its time is over", async () => {
  const unsigned = createUnsigned({ budgetBytes: 100, readMs: 200 });
  const webhook = {
    signedBy: "signature",
    limitBytes: 60,
    answer: async (request: Request) => new Response(await request.text()),
  };
  const post = (bytes: number, ends = true) =>
    unsigned(
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
    );
  const dripping = post(60, false);
  const [fits, long, crowded] = [await post(40), await post(61), await post(41)];
  expect([fits.status, (await fits.text()).length, long.status, crowded.status]).toEqual([200, 40, 413, 503]);
  expect((await dripping).status).toBe(408);
  expect((await post(60)).status).toBe(200);
});
