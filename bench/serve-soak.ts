import { readFileSync } from "node:fs";
import { createServer } from "../test/adapters/web/web-kit.ts";
import type { Row } from "./measure.ts";
import { processorMs } from "./processor-time.ts";
import { CHATS, MB, memoryAtRest, sendAll } from "./serve-burst.ts";

const MESSAGES = Number(process.env.PICOCLAW_BENCH_SOAK ?? 100_000);
/** A burst that is answered before the next one is sent. */
const AT_ONCE = 500;
/** Where memory is looked at. What is kept for each message would double it from one to the next. */
const MARKS = [3_000, 6_000, 12_500, 25_000, 50_000, 100_000];
/** Until here caches fill and code is compiled. */
const WARM = 12_500;

interface SoakStep {
  readonly messages: number;
  readonly residentMb: number;
  readonly peakMb: number;
  /** Of one message since the step before. */
  readonly messageMs: number;
}

/**
 * `serve` with SQLite over very many messages: its resident memory on the way, and the processor time of a message with its
 * HTTP request. It takes as long as the processors take, and says on standard error how far it is.
 */
export async function serveSoak(): Promise<Row[]> {
  const server = await createServer({
    script: [{ text: "re: {{message}}" }],
    config: "serve: { rate_limit: 0 }\n",
  });
  try {
    const token = server.token("--scope", "read,chat");
    const headers = { authorization: `Bearer ${token}` };
    const send = (n: number) =>
      fetch(`${server.url}/api/v1/messages`, {
        method: "POST",
        headers,
        body: JSON.stringify({ text: `m${n}`, chat: `c${n % CHATS}`, event_id: `soak-${n}` }),
      });
    const steps: SoakStep[] = [];
    let at = 0;
    for (const until of [...MARKS.filter((mark) => mark < MESSAGES), MESSAGES]) {
      const [began, before] = [at, processorMs(server.pid())];
      for (; at < until; at = Math.min(until, at + AT_ONCE)) {
        await sendAll(at, Math.min(AT_ONCE, until - at), send);
        await untilNoneWaits(server.url, headers);
      }
      const messageMs = (processorMs(server.pid()) - before) / (at - began);
      const residentMb = (await memoryAtRest(server.pid())) / MB;
      const peakMb = mostResident(server.pid()) / MB;
      steps.push({ messages: at, residentMb, peakMb, messageMs });
      console.error(
        `soak: ${at} messages, ${residentMb.toFixed(0)} MB resident, ${peakMb.toFixed(0)} MB at most, ${messageMs.toFixed(1)} ms of processor time each`,
      );
    }
    return soakRows(steps);
  } finally {
    await server.close();
  }
}

/** Flat: the last is no larger than the largest while it warmed up, but for what the collector leaves lying about. */
function soakRows(steps: readonly SoakStep[]): Row[] {
  const warm = Math.max(...steps.filter(({ messages }) => messages <= WARM).map((one) => one.residentMb));
  const grown = (steps.at(-1)?.residentMb ?? 0) / warm;
  const all = steps.map(
    ({ messages, messageMs }, n) => (messages - (steps[n - 1]?.messages ?? 0)) * messageMs,
  );
  const ms = all.reduce((sum, one) => sum + one, 0) / MESSAGES;
  const shown = (figure: (step: SoakStep) => string) =>
    steps.map((step) => `${figure(step)} at ${step.messages}`).join(", ");
  return [
    {
      name: `resident memory of serve over ${MESSAGES} messages, MB`,
      figure: `${shown(({ residentMb }) => residentMb.toFixed(0))}; the last / the first ${grown.toFixed(2)}`,
      target: "flat: ≤ 1.1",
      ok: grown <= 1.1,
    },
    {
      name: "processor time of a message with its HTTP request, SQLite, ms",
      figure: `${ms.toFixed(1)}; since the mark before: ${shown(({ messageMs }) => messageMs.toFixed(1))}`,
      target: "7.6 ms",
      ok: ms <= 7.6,
    },
  ];
}

async function untilNoneWaits(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
    const left = ["waiting", "working"].map((state) =>
      Number(new RegExp(`^picoclaw_messages_${state} (\\d+)$`, "m").exec(metrics)?.[1] ?? 0),
    );
    if (left.every((count) => count === 0)) return;
    await Bun.sleep(1_000);
  }
}

function mostResident(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
