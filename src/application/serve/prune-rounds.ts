import type { AccessStore } from "../ports/access.ts";
import { KEPT_KINDS, type KeptKind, type RetentionStore } from "../ports/retention.ts";
import type { Timers } from "../ports/timers.ts";
import { pause } from "./keep-work.ts";

/** The store is gone through so often, by whichever process asks first. */
const EVERY_MS = 6 * 3_600_000;
const [FIRST_LOOK_MS, LOOK_MS] = [60_000, 600_000];
const DAY_MS = 24 * 3_600_000;
/** Few enough that nobody waits for them, with a pause in which others write. */
const [BATCH, PAUSE_MS] = [200, 100];

export interface PruneRoundsDeps {
  readonly store: RetentionStore;
  readonly access: Pick<AccessStore, "prune">;
  /** Days that a kind is kept; 0 is for ever. */
  readonly days: (kind: KeptKind) => number;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

/** What has been kept for long enough goes, some times a day, in small steps. The answer stops it. */
export function startPruning({ store, access, days, timers, onTrouble }: PruneRoundsDeps): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function round(): Promise<void> {
    if (!(await store.takeTurn(EVERY_MS))) return;
    await access.prune(timers.now().toISOString());
    for (const kind of KEPT_KINDS) {
      const kept = days(kind);
      if (kept === 0) continue;
      const before = new Date(timers.now().getTime() - kept * DAY_MS);
      while (!signal.aborted && (await store.forget(kind, before, BATCH)) > 0)
        await pause(timers, PAUSE_MS, signal);
    }
  }

  async function rounds(): Promise<void> {
    await pause(timers, FIRST_LOOK_MS, signal);
    while (!signal.aborted) {
      await round().catch(onTrouble);
      await pause(timers, LOOK_MS, signal);
    }
  }

  void rounds();
  return () => stopping.abort();
}
