import { readFileSync, realpathSync } from "node:fs";
import { waitUntil } from "../../application/platform/waiting.ts";
import type { Timers } from "../../application/ports/platform.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";

/** The machine's clock. A timer alone keeps no process alive. */
export const timers: Timers = {
  now: () => new Date(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** A timer that keeps the process alive; the answer cancels it. */
export function startTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Waits; an abort ends it early, without a word. */
export async function pause(ms: number, signal = new AbortController().signal): Promise<void> {
  await waitUntil(signal, (go) => startTimer(go, ms));
}

/** Waits; an abort ends it early, with its reason. */
export async function pauseUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, signal);
  signal.throwIfAborted();
}

const ZONES = "/zoneinfo/";

/** The zone that the system's clock file links to, or else a name of its contents. */
export function machineZoneName(): string {
  return attemptOr("UTC", () => {
    const file = realpathSync("/etc/localtime");
    const at = file.lastIndexOf(ZONES);
    if (at !== -1) return file.slice(at + ZONES.length);
    return `localtime ${Bun.hash(readFileSync(file)).toString(36)}`;
  });
}
