import { readFileSync } from "node:fs";
import type { Row } from "./measure.ts";

export const EVENTS = Number(process.env.PICOCLAW_BENCH_EVENTS ?? 3_000);
export const CHATS = 50;
export const MB = 1024 ** 2;
const CLIENTS = 32;

/** Sends requests from several clients at once; how long each acknowledgement took, shortest first. */
export async function sendAll(
  from: number,
  count: number,
  send: (n: number) => Promise<Response>,
): Promise<readonly number[]> {
  const times: number[] = [];
  const next = { n: from };
  const client = async () => {
    while (next.n < from + count) {
      const n = next.n++;
      const began = performance.now();
      const response = await send(n);
      await response.arrayBuffer();
      times.push(performance.now() - began);
      if (!response.ok) throw new Error(`burst: ${response.status}`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return times.sort((x, y) => x - y);
}

export function burstRow(what: string, times: readonly number[]): Row {
  const ms = (share: number) => `${at(times, share).toFixed(0)} ms`;
  return {
    name: `burst of ${EVENTS} ${what}, ${CHATS} chats`,
    figure: `ack p50 ${ms(0.5)}, p99 ${ms(0.99)}, max ${ms(1)}`,
    target: "p99 ≤ 100 ms, all ≤ 1 s",
    ok: at(times, 0.99) <= 100 && at(times, 1) <= 1_000,
  };
}

export async function memoryAtRest(pid: number): Promise<number> {
  await Bun.sleep(3_000);
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
