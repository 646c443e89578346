import { createServer, signIn } from "../test/adapters/web/web-kit.ts";
import type { Row } from "./measure.ts";
import { burstRow, CHATS, EVENTS, MB, memoryAtRest, sendAll } from "./serve-burst.ts";

/** With `--long`. */
const LONG = 100_000;

/**
 * `serve` with the console alone: its memory at rest, a burst of messages while fifty chats are being answered, how its
 * memory stands when all of them are and after many more, and what a browser loads to see the first page.
 */
export async function serveConsole({ long }: { readonly long: boolean }): Promise<Row[]> {
  const server = await createServer({
    script: [{ text: "re: {{message}}" }],
    config: "serve: { rate_limit: 0 }\n",
  });
  try {
    const token = server.token("--scope", "read,chat");
    const idle = await memoryAtRest(server.pid());
    const visitor = await signIn(server.login);
    const paint = await firstPaint(visitor, server.url);
    const burst = await sendBurst(server.url, token, 0);
    const drained = await untilAnswered(server.url, token, EVENTS);
    const warm = await memoryAtRest(server.pid());
    const messages = long ? LONG : 2 * EVENTS;
    for (let from = EVENTS; from < messages; from += EVENTS) {
      await sendBurst(server.url, token, from);
      await untilAnswered(server.url, token, from + EVENTS);
    }
    const after = await memoryAtRest(server.pid());
    const grown = (after - warm) / (messages - EVENTS);
    return [
      {
        name: "serve at rest, console alone",
        figure: `${(idle / MB).toFixed(0)} MB`,
        target: "≤ 60 MB (opencode serve 336, openclaw gateway 916)",
        ok: idle <= 60 * MB,
      },
      burstRow("events over HTTP", burst),
      {
        name: "of these answered, none lost and none twice",
        figure: `${drained.answered} in ${(drained.ms / 1_000).toFixed(0)} s`,
        target: `${EVENTS}`,
        ok: drained.answered === EVENTS,
      },
      {
        name: `memory of serve after ${messages} messages, against after ${EVENTS}`,
        figure: `${(after / MB).toFixed(0)} MB / ${(warm / MB).toFixed(0)} MB = ${(after / warm).toFixed(2)}; ${grown.toFixed(0)} bytes a message`,
        target: "flat: ≤ 1.1",
        ok: after / warm <= 1.1,
      },
      {
        name: "first sight of the console, transferred",
        figure: `${(paint / 1024).toFixed(0)} KB`,
        target: "≤ 60 KB",
        ok: paint <= 60 * 1024,
      },
    ];
  } finally {
    await server.close();
  }
}

type Visitor = Awaited<ReturnType<typeof signIn>>;

function sendBurst(url: string, token: string, from: number): Promise<readonly number[]> {
  return sendAll(from, EVENTS, (n) =>
    fetch(`${url}/api/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ text: `m${n}`, chat: `c${n % CHATS}`, event_id: `burst-${n}` }),
    }),
  );
}

async function untilAnswered(url: string, token: string, wanted: number) {
  const began = performance.now();
  for (;;) {
    const metrics = await (
      await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    ).text();
    const counts = [...metrics.matchAll(/^picoclaw_messages_answered_total\{[^}]*\} (\d+)$/gm)];
    const answered = counts.reduce((sum, [, count]) => sum + Number(count), 0);
    const waiting = Number(/^picoclaw_messages_waiting (\d+)$/m.exec(metrics)?.[1] ?? 0);
    const working = Number(/^picoclaw_messages_working (\d+)$/m.exec(metrics)?.[1] ?? 0);
    if (answered >= wanted || (waiting === 0 && working === 0))
      return { answered, ms: performance.now() - began };
    await Bun.sleep(250);
  }
}

/** As a browser gets it: packed where that is offered. */
async function firstPaint({ text, cookies }: Visitor, url: string): Promise<number> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const headers = { cookie, "accept-encoding": "gzip" };
  const sizeOf = async (path: string) =>
    (await (await fetch(`${url}${path}`, { headers, decompress: false })).arrayBuffer()).byteLength;
  const page = await text("/chat/operator");
  const assets = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path as string);
  const sizes = await Promise.all(["/chat/operator", ...assets].map(sizeOf));
  return sizes.reduce((sum, each) => sum + each, 0);
}
