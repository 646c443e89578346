/** Medians and spread of repeated runs, and rows that hold a figure against its target. */
export interface Sample {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export interface Row {
  readonly name: string;
  readonly figure: string;
  readonly target: string;
  readonly ok: boolean;
}

export function summarize(values: readonly number[]): Sample {
  const sorted = [...values].sort((x, y) => x - y);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
  return { median: at(0.5), low: at(0.1), high: at(0.9) };
}

/** Something to be timed; `prepare` is done before each run and not timed. */
export interface Side {
  readonly prepare?: () => Promise<void> | void;
  readonly run: () => Promise<void> | void;
}

/**
 * Times each side after warming up. The sides are taken in turns, so that noise hits all of them, and what is held
 * against a target is a ratio inside one call.
 */
export async function inTurns<Name extends string>(
  runs: number,
  sides: Readonly<Record<Name, Side | Side["run"]>>,
  warmUps = 2,
): Promise<Record<Name, Sample>> {
  const names = Object.keys(sides) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let i = -warmUps; i < runs; i++) {
    for (const name of names) {
      const side = sides[name];
      const { prepare, run } = typeof side === "function" ? { prepare: undefined, run: side } : side;
      await prepare?.();
      const started = performance.now();
      await run();
      if (i >= 0) times[name].push(performance.now() - started);
    }
  }
  return Object.fromEntries(names.map((name) => [name, summarize(times[name])])) as Record<Name, Sample>;
}

export function milliseconds({ median, low, high }: Sample): string {
  return `${median.toFixed(1)} ms (${low.toFixed(1)}–${high.toFixed(1)})`;
}
