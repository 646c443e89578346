import type { ViewerJobs } from "../../application/inbox/viewer-jobs.ts";
import type { Interest } from "./live-lines.ts";

export type Every = (ms: number, callback: () => void) => () => void;

const LOOK_MS = 2_000;

interface Watched {
  seen: string;
  readonly listeners: Set<() => void>;
}

/**
 * Jobs of other processes tell nobody here: their journals are looked at now and then. Each is looked at once a round,
 * however many pages show it, and not at all while none does.
 */
export function createWatch(viewerJobs: Pick<ViewerJobs, "journal" | "latest">, every: Every) {
  /** By job, and under no name the list of all. */
  const watched = new Map<string, Watched>();
  const look = (name: string) =>
    name === "" ? viewerJobs.latest() : String(viewerJobs.journal(name).length);
  let stop = () => {};

  function round(): void {
    for (const [name, one] of watched) {
      const now = look(name);
      if (now === one.seen) continue;
      one.seen = now;
      for (const listener of one.listeners) listener();
    }
  }

  return (interest: Interest, changed: () => void): (() => void) => {
    if (interest.kind === "chat") return () => {};
    const name = interest.kind === "job" ? interest.jobId : "";
    if (watched.size === 0) stop = every(LOOK_MS, round);
    const one = watched.get(name) ?? { seen: look(name), listeners: new Set() };
    watched.set(name, one);
    // A function of its own: a page may be open twice.
    const listener = () => changed();
    one.listeners.add(listener);
    return () => {
      if (!one.listeners.delete(listener) || one.listeners.size > 0) return;
      watched.delete(name);
      if (watched.size === 0) stop();
    };
  };
}
