import type { ViewerJobs } from "../../application/fleet/viewer-jobs.ts";
import type { PageInterest } from "./live-lines.ts";

export type Every = (ms: number, callback: () => void) => () => void;

const LOOK_MS = 2_000;

interface WatchedJob {
  /** Null until it was looked at once. */
  seen: string | null;
  readonly listeners: Set<() => void>;
}

/**
 * Jobs of other processes tell nobody here: their journals are looked at now and then. Each is looked at once a round,
 * however many pages show it, and not at all while none does.
 */
export function createWatch(viewerJobs: Pick<ViewerJobs, "version" | "latest">, every: Every) {
  /** By job, and under no name the list of all. */
  const watched = new Map<string, WatchedJob>();
  const look = (name: string) => (name === "" ? viewerJobs.latest() : viewerJobs.version(name));
  const state = { stop: () => {}, looking: false };

  /** What cannot be looked at now is looked at in the next round. */
  async function round(): Promise<void> {
    if (state.looking) return;
    state.looking = true;
    for (const [name, one] of [...watched]) {
      const now = await look(name).catch(() => one.seen);
      if (now === one.seen) continue;
      const isFirst = one.seen === null;
      one.seen = now;
      if (!isFirst) for (const listener of one.listeners) listener();
    }
    state.looking = false;
  }

  return (interest: Exclude<PageInterest, { kind: "chat" }>, changed: () => void): (() => void) => {
    const name = interest.kind === "job" ? interest.jobId : "";
    if (watched.size === 0) state.stop = every(LOOK_MS, () => void round());
    const one: WatchedJob = watched.get(name) ?? { seen: null, listeners: new Set() };
    if (!watched.has(name)) void firstLook(name, one);
    watched.set(name, one);
    // A function of its own: a page may be open twice.
    const listener = () => changed();
    one.listeners.add(listener);
    return () => {
      if (!one.listeners.delete(listener) || one.listeners.size > 0) return;
      watched.delete(name);
      if (watched.size === 0) state.stop();
    };
  };

  async function firstLook(name: string, one: WatchedJob): Promise<void> {
    const now = await look(name).catch(() => null);
    one.seen ??= now;
  }
}
