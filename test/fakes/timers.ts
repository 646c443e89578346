import type { Timers } from "../../src/application/ports/platform.ts";

/** Time that only the test moves. */
export function createManualTimers(start = "2026-03-01T00:00:00.000Z") {
  const alarms = new Set<{ readonly at: number; readonly callback: () => void }>();
  const clock = { ms: Date.parse(start) };
  const timers: Timers = {
    now: () => new Date(clock.ms),
    after(ms, callback) {
      const alarm = { at: clock.ms + ms, callback };
      alarms.add(alarm);
      return () => void alarms.delete(alarm);
    },
  };
  return {
    ...timers,
    /** Moves on, calling what falls due in its order. */
    async advance(ms: number): Promise<void> {
      const end = clock.ms + ms;
      for (;;) {
        const due = [...alarms].filter(({ at }) => at <= end).sort((x, y) => x.at - y.at)[0];
        if (due === undefined) break;
        alarms.delete(due);
        clock.ms = Math.max(clock.ms, due.at);
        due.callback();
        await settle();
      }
      clock.ms = end;
      await settle();
    },
  };
}

/** Lets everything that is ready to run do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
