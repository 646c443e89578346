/** How much one task may ask of a model with the keys of whoever runs it. */
export interface KeyLimits {
  readonly requests: number;
  /** Of requests and answers together. */
  readonly bytes: number;
}

/** What is left of them, over all runs of a task. */
export interface KeyQuota {
  readonly limits: KeyLimits;
  /** Which limit was reached first; null while something is left. */
  usedUp(): keyof KeyLimits | null;
  /** False when there is none left; nothing is to be passed on then. */
  take(what: keyof KeyLimits, amount: number): boolean;
}

export function createKeyQuota(limits: KeyLimits): KeyQuota {
  const left = { ...limits };
  let reached: keyof KeyLimits | null = null;
  return {
    limits,
    usedUp: () => reached,
    take(what, amount) {
      left[what] -= amount;
      if (left[what] < 0) reached ??= what;
      return reached === null;
    },
  };
}
