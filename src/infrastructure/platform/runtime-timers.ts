import type { Timers } from "../../application/ports/timers.ts";

/** The machine's clock. A timer alone keeps no process alive. */
export const timers: Timers = {
  now: () => new Date(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
