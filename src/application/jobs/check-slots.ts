/** How many checks run at once in this process, whoever's drafts they judge. */
export interface CheckSlots {
  /** Runs when a slot is free; what is urgent waits before all that is not. Given up, without a slot, with the signal. */
  run<T>(use: () => Promise<T>, how: { readonly urgent: boolean; readonly signal: AbortSignal }): Promise<T>;
}

export function createCheckSlots(count: number): CheckSlots {
  const urgent: (() => void)[] = [];
  const patient: (() => void)[] = [];
  let free = count;
  const leave = () => {
    const next = urgent.shift() ?? patient.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    async run(use, { urgent: isUrgent, signal }) {
      if (free > 0) free--;
      else if (!(await waitIn(isUrgent ? urgent : patient, signal))) return use();
      try {
        return await use();
      } finally {
        leave();
      }
    },
  };
}

/** False where the signal ended first: whoever is called then sees that for himself, and runs nothing. */
function waitIn(line: (() => void)[], signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const go = () => {
      signal.removeEventListener("abort", giveUp);
      resolve(true);
    };
    const giveUp = () => {
      line.splice(line.indexOf(go), 1);
      resolve(false);
    };
    line.push(go);
    signal.addEventListener("abort", giveUp, { once: true });
  });
}
