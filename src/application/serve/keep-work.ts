import type { Timers } from "../ports/timers.ts";
import { BEAT_MS, type Work, type WorkQueue } from "../ports/work-queue.ts";
import type { CommitGuard } from "./commit-guard.ts";

export interface KeepWorkDeps {
  readonly queue: Pick<WorkQueue, "beat">;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
  /** Told of the beats; it decides whether jobs are still brought in. */
  readonly guard?: Pick<CommitGuard, "attach" | "heard" | "clock">;
}

export interface WorkKeeper {
  /** Until `drop`; the signal ends when the work was lost to another process. */
  hold(work: Work): AbortSignal;
  drop(work: Work): void;
  /**
   * Ends work, again and again while the store fails: what was done for it must not be done twice. `unknown` only when
   * this process stops before the store answers; the next one finds out.
   */
  end(act: () => Promise<"done" | "lost">): Promise<"done" | "lost" | "unknown">;
  /** What dead processes had is free when this resolves. */
  start(): Promise<void>;
  /** Ends are tried once more and not repeated. */
  stop(): void;
}

const AGAIN_MS = 1_000;

/** Says that this process lives, tells who works on something that it was lost, and carries ends through an outage. */
export function createWorkKeeper({ queue, timers, onTrouble, guard }: KeepWorkDeps): WorkKeeper {
  const held = new Map<Work, AbortController>();
  const stopping = new AbortController();
  const next = { cancel: () => {} };

  async function beat(): Promise<void> {
    const at = guard?.clock() ?? 0;
    const all = await queue.beat();
    guard?.heard(at);
    for (const lost of all)
      for (const [work, controller] of held)
        if (work.id === lost.id && work.fence === lost.fence) controller.abort();
  }

  guard?.attach({
    beat,
    giveUp: () => {
      for (const controller of held.values()) controller.abort();
    },
  });

  function again(): void {
    if (stopping.signal.aborted) return;
    next.cancel = timers.after(BEAT_MS, () => void beat().catch(onTrouble).finally(again));
  }

  return {
    hold(work) {
      const controller = new AbortController();
      held.set(work, controller);
      return controller.signal;
    },
    drop: (work) => void held.delete(work),
    async end(act) {
      for (let tries = 0; ; tries += 1) {
        const last = stopping.signal.aborted;
        try {
          return await act();
        } catch (error) {
          if (tries === 0 || last) onTrouble(error);
          if (last) return "unknown";
        }
        await pause(timers, AGAIN_MS, stopping.signal);
      }
    },
    async start() {
      await beat();
      again();
    },
    stop() {
      stopping.abort();
      next.cancel();
    },
  };
}

/** Ends with the time or with the signal. */
export function pause(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = timers.after(ms, done);
    signal.addEventListener("abort", done, { once: true });
  });
}
