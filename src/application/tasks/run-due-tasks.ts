import { createWorkTaker } from "../serve/take-work.ts";
import type { ClaimedTask, SolveStore } from "../ports/tasks.ts";
import type { Timers } from "../ports/timers.ts";

export interface TaskRunnerDeps {
  readonly store: Pick<SolveStore, "claim">;
  /** Tasks that are worked on at once. */
  readonly limit: number;
  /** What this process has: labels, and the forges it may ask. */
  readonly has: readonly string[];
  /** Ends the claim before it resolves. */
  readonly run: (claimed: ClaimedTask, signal: AbortSignal) => Promise<void>;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

export interface TaskRunner {
  /** There may be work. */
  wake(): void;
  /** Ends what runs and waits for it; nothing begins afterwards. */
  stop(): Promise<void>;
}

/** Works on tasks that wait, oldest first, a few at a time. */
export function createTaskRunner(parts: TaskRunnerDeps): TaskRunner {
  const { store, limit, has, timers, onTrouble } = parts;
  const stopping = new AbortController();
  const taking = createWorkTaker<ClaimedTask>({
    // Tasks need a lane.
    claim: async ({ lightOnly = false, notGroups = [] }) =>
      lightOnly || notGroups.length > 0 ? null : store.claim(has),
    run: (claimed) => parts.run(claimed, stopping.signal),
    limit,
    perGroup: limit,
    timers,
    onTrouble,
  });
  return {
    wake: taking.look,
    async stop() {
      taking.close();
      stopping.abort();
      await taking.idle();
    },
  };
}
