import { joinLine, waitUntil } from "./waiting.ts";

/** Limits how many checks run at once in this process, over all drafts. */
export type CheckSlots = ReturnType<typeof createCheckSlots>;

interface CheckTurn {
  /** Urgent checks are first in line. */
  readonly urgent: boolean;
  /** Drops a check that still waits. */
  readonly signal: AbortSignal;
}

export interface CheckSlotsDeps {
  /** Cores that checks may keep busy; this many checks always run. */
  readonly cores: number;
  /** Checks that may run at once where those that run leave these cores idle. */
  readonly most: number;
  /** Reports periodically how many cores of the machine were busy since the last report; the returned function ends it. */
  readonly watchLoad: (onLook: (busyCores: number) => void) => () => void;
}

/** Another check starts only while this much of the checks' cores is idle. */
const SPARE_CORES = 0.5;

/** While checks are queued the machine's load is measured: if the running ones leave the checks' cores idle, the next one starts. */
export function createCheckSlots({ cores, most, watchLoad }: CheckSlotsDeps) {
  const urgent: (() => void)[] = [];
  const patient: (() => void)[] = [];
  let running = 0;
  let stopWatching: (() => void) | null = null;

  function letIn(limit: number): void {
    while (running < limit) {
      const next = urgent.shift() ?? patient.shift();
      if (next === undefined) break;
      running++;
      next();
    }
    if (urgent.length + patient.length > 0) return;
    stopWatching?.();
    stopWatching = null;
  }

  const onLook = (busyCores: number) => letIn(busyCores <= cores - SPARE_CORES ? most : cores);

  return {
    async run<T>(use: () => Promise<T>, { urgent: isUrgent, signal }: CheckTurn): Promise<T> {
      if (running < cores) running++;
      else {
        const turn = waitUntil(signal, (go) => joinLine(isUrgent ? urgent : patient, go));
        if (most > cores) stopWatching ??= watchLoad(onLook);
        // The caller sees itself that the signal aborted, and runs nothing.
        if (!(await turn)) return use();
      }
      try {
        return await use();
      } finally {
        running--;
        letIn(cores);
      }
    },
  };
}
