/**
 * Waits that end with a call or with a signal, and work in turns. In: a signal and how to be called, or how much runs at once.
 * Out: whether the call came first. Invariant: when a wait is over, it holds neither its place nor a listener.
 */

/** True once `begin` has called back, false if the signal aborts first. `begin` answers how its place in the line is given up. */
export function waitUntil(signal: AbortSignal, begin: (go: () => void) => () => void): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (hasGone: boolean) => {
      signal.removeEventListener("abort", onAbort);
      giveUp();
      resolve(hasGone);
    };
    const onAbort = () => end(false);
    const giveUp = begin(() => end(true));
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

export const untilAborted = (signal: AbortSignal) => waitUntil(signal, () => () => {});

/** Adds to a line of those that wait; the answer takes it out again. */
export function joinLine<Place>(line: Place[], place: Place): () => void {
  line.push(place);
  return () => {
    const at = line.indexOf(place);
    if (at >= 0) line.splice(at, 1);
  };
}

/** Runs at most so many at once; the others wait in order of arrival. */
export function createRunInTurn(atOnce: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = atOnce;
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
