import type { SolveStore, SolveTask } from "../ports/solve-store.ts";

export interface TaskRunnerParts {
  readonly store: Pick<SolveStore, "due">;
  /** Tasks that are worked on at once. */
  readonly limit: number;
  readonly isGone: (owner: string) => boolean;
  /** Whether this machine has what the task needs. */
  readonly mayRun: (task: SolveTask) => boolean;
  readonly now: () => Date;
  readonly run: (task: SolveTask, signal: AbortSignal) => Promise<void>;
  readonly onTrouble: (error: unknown) => void;
}

export interface TaskRunner {
  /** There may be work. */
  wake(): void;
  /** Ends what runs and waits for it; nothing begins afterwards. */
  stop(): Promise<void>;
}

/** Works on tasks that are due, oldest first, a few at a time. */
export function createTaskRunner(parts: TaskRunnerParts): TaskRunner {
  const running = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const state: { looking: Promise<void> | null; again: boolean } = { looking: null, again: false };

  const begin = (task: SolveTask) => {
    const run = parts
      .run(task, stopping.signal)
      .catch(parts.onTrouble)
      .finally(() => {
        running.delete(task.id);
        wake();
      });
    running.set(task.id, run);
  };
  const look = async () => {
    do {
      state.again = false;
      const due = await parts.store.due(parts.now(), parts.isGone);
      for (const task of due.filter(parts.mayRun))
        if (!stopping.signal.aborted && running.size < parts.limit && !running.has(task.id)) begin(task);
    } while (state.again);
  };
  const wake = () => {
    if (stopping.signal.aborted) return;
    state.again = true;
    state.looking ??= look()
      .catch(parts.onTrouble)
      .finally(() => {
        state.looking = null;
      });
  };
  return {
    wake,
    async stop() {
      stopping.abort();
      await state.looking;
      await Promise.allSettled([...running.values()]);
    },
  };
}
