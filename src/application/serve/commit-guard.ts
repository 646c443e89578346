import { BEAT_MS } from "../ports/work-queue.ts";

/** Whether jobs of this process may still be brought in: whoever was not heard of may have a successor. */
export interface CommitGuard {
  /**
   * False when two beats were missed and another one cannot be made now, or when making it told that the work behind
   * `signal` is another's. What was in hand is then given back.
   */
  mayCommit(signal: AbortSignal): Promise<boolean>;
  /** A beat that began at this moment of the clock was written. */
  heard(at: number): void;
  /** Who makes the beats, and what gives up all work in hand. */
  attach(keeper: { readonly beat: () => Promise<void>; readonly giveUp: () => void }): void;
  readonly clock: () => number;
}

const MISSED_MS = 2 * BEAT_MS;

/** `clock` goes on while the process stands still. */
export function createCommitGuard(clock: () => number, pause: (ms: number) => Promise<void>): CommitGuard {
  const state: { at: number | null; keeper: Parameters<CommitGuard["attach"]>[0] | null } = {
    at: null,
    keeper: null,
  };
  // Before the first beat there is nothing in hand.
  const isHeard = () => state.at === null || clock() - state.at < MISSED_MS;
  return {
    clock,
    heard(at) {
      state.at = at;
    },
    attach(keeper) {
      state.keeper = keeper;
    },
    async mayCommit(signal) {
      if (isHeard() || state.keeper === null) return true;
      await Promise.race([state.keeper.beat().catch(() => {}), pause(BEAT_MS)]);
      if (isHeard()) return !signal.aborted;
      state.keeper.giveUp();
      return false;
    },
  };
}
