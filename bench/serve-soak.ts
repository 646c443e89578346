import { readFileSync } from "node:fs";
import { createServer } from "../test/adapters/web/web-kit.ts";
import type { Row } from "./measure.ts";
import { processorMs } from "./processor-time.ts";
import { CHATS, MB, sendAll } from "./serve-burst.ts";

const MESSAGES = Number(process.env.PICOCLAW_BENCH_SOAK ?? 100_000);
/** A burst that is answered before the next one is sent. */
const AT_ONCE = 500;
const STEPS = 10;

interface SoakStep {
  readonly messages: number;
  readonly residentMb: number;
  readonly peakMb: number;
  readonly messageMs: number;
}

/**
 * `serve` with SQLite over very many messages: its resident memory at every tenth of the way, and the processor time of a
 * message with its HTTP request. It takes as long as the processors take, and says on standard error how far it is.
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
    for (let at = 0; at < MESSAGES; ) {
      const [began, until] = [at, Math.min(MESSAGES, at + MESSAGES / STEPS)];
      const before = processorMs(server.pid());
      for (; at < until; at += AT_ONCE) {
        await sendAll(at, Math.min(AT_ONCE, until - at), send);
        await untilNoneWaits(server.url, headers);
      }
      at = until;
      const step = {
        messages: at,
        residentMb: statusOf(server.pid(), "VmRSS") / MB,
        peakMb: statusOf(server.pid(), "VmHWM") / MB,
        messageMs: (processorMs(server.pid()) - before) / (at - began),
      };
      steps.push(step);
      console.error(
        `soak: ${at} messages, ${step.residentMb.toFixed(0)} MB resident, ${step.peakMb.toFixed(0)} MB at most, ${step.messageMs.toFixed(1)} ms of processor time each`,
      );
    }
    return soakRows(steps);
  } finally {
    await server.close();
  }
}

/** Flat: the second half is no larger than the first, but for what the collector leaves lying about. */
function soakRows(steps: readonly SoakStep[]): Row[] {
  const half = Math.floor(steps.length / 2);
  const most = (some: readonly SoakStep[]) => Math.max(...some.map(({ residentMb }) => residentMb));
  const [first, second] = [most(steps.slice(0, half)), most(steps.slice(half))];
  const ms = steps.map(({ messageMs }) => messageMs).sort((one, other) => one - other)[half] ?? 0;
  return [
    {
      name: `resident memory of serve at each tenth of ${MESSAGES} messages`,
      figure: `${steps.map(({ residentMb }) => residentMb.toFixed(0)).join(", ")} MB; second half / first ${(second / first).toFixed(2)}`,
      target: "flat: ≤ 1.1",
      ok: second / first <= 1.1,
    },
    {
      name: "processor time of a message with its HTTP request, SQLite, median of the tenths",
      figure: `${ms.toFixed(1)} ms`,
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

function statusOf(pid: number, field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) * 1024;
}
