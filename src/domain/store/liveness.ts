/**
 * Since when a process has reached the store without interruption. The silence of others counts only from then on:
 * during an outage, or while this machine slept, no signal could arrive. A new process knows of no interruption.
 * `longestMs`: between two moments of an unbroken reach.
 */
export function createReach(longestMs: number) {
  const state: { last: number | null; since: number } = { last: null, since: Number.NEGATIVE_INFINITY };
  return {
    /** The store was reached at this moment; since when that has held. */
    reached(at: number): number {
      if (state.last !== null && at - state.last > longestMs) state.since = at;
      state.last = at;
      return state.since;
    },
  };
}

export const BEAT_MS = 3_000;

export const DEAD_AFTER_MS = 15_000;
