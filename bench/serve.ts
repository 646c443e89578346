import { readFileSync } from "node:fs";
import { createServer, signIn } from "../test/serve/web-kit.ts";
import type { Row } from "./measure.ts";

const EVENTS = Number(process.env.PICOCLAW_BENCH_EVENTS ?? 10_000);
const CHATS = 50;
const CLIENTS = 32;
const MB = 1024 ** 2;

/**
 * `serve` with the console alone: its memory at rest, a burst of messages while fifty chats are being answered, how its
 * memory stands when all of them are, and what a browser loads to see the first page.
 */
export async function serveConsole(): Promise<Row[]> {
  const server = await createServer({
    script: [{ text: "re: {{message}}" }],
    config: "serve: { rate_limit: 0 }\n",
  });
  try {
    const token = server.token("--scope", "read,chat");
    const idle = await memoryAtRest(server.pid());
    const visitor = await signIn(server.login);
    const paint = await firstPaint(visitor);
    const burst = await sendBurst(server.url, token, 0, EVENTS);
    const drained = await untilAnswered(server.url, token, EVENTS);
    const warm = await memoryAtRest(server.pid());
    await sendBurst(server.url, token, EVENTS, EVENTS);
    await untilAnswered(server.url, token, 2 * EVENTS);
    const after = await memoryAtRest(server.pid());
    const ms = (value: number) => `${value.toFixed(0)} ms`;
    return [
      {
        name: "serve at rest, console alone",
        figure: `${(idle / MB).toFixed(0)} MB`,
        target: "≤ 60 MB (opencode serve 336, openclaw gateway 916)",
        ok: idle <= 60 * MB,
      },
      {
        name: `burst of ${EVENTS} events over HTTP, ${CHATS} chats`,
        figure: `ack p50 ${ms(at(burst.times, 0.5))}, p99 ${ms(at(burst.times, 0.99))}, max ${ms(at(burst.times, 1))}`,
        target: "p99 ≤ 100 ms, all ≤ 1 s",
        ok: at(burst.times, 0.99) <= 100 && at(burst.times, 1) <= 1_000,
      },
      {
        name: "of these answered, none lost and none twice",
        figure: `${drained.answered} in ${(drained.ms / 1_000).toFixed(0)} s`,
        target: `${EVENTS}`,
        ok: drained.answered === EVENTS,
      },
      {
        name: "memory after as many again, against before",
        figure: `${(after / MB).toFixed(0)} MB / ${(warm / MB).toFixed(0)} MB = ${(after / warm).toFixed(2)}`,
        target: "flat: ≤ 1.1",
        ok: after / warm <= 1.1,
      },
      {
        name: "first sight of the console, transferred",
        figure: `${(paint / 1024).toFixed(0)} KB`,
        target: "≤ 100 KB",
        ok: paint <= 100 * 1024,
      },
    ];
  } finally {
    await server.close();
  }
}

async function sendBurst(url: string, token: string, from: number, count: number) {
  const times: number[] = [];
  const next = { n: from };
  const client = async () => {
    while (next.n < from + count) {
      const n = next.n++;
      const began = performance.now();
      const response = await fetch(`${url}/api/v1/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ text: `m${n}`, chat: `c${n % CHATS}`, event_id: `burst-${n}` }),
      });
      await response.arrayBuffer();
      times.push(performance.now() - began);
      if (!response.ok) throw new Error(`burst: ${response.status}`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return { times: times.sort((x, y) => x - y) };
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

async function firstPaint(visitor: Awaited<ReturnType<typeof signIn>>): Promise<number> {
  const page = await visitor.text("/chat/operator");
  let bytes = Buffer.byteLength(page);
  for (const [, path] of page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g))
    bytes += Buffer.byteLength(await visitor.text(path as string));
  return bytes;
}

async function memoryAtRest(pid: number): Promise<number> {
  await Bun.sleep(3_000);
  return memoryOf(pid);
}

function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
