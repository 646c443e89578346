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

/** Times `use` after warming up; the two sides of a ratio are taken in turns so that noise hits both. */
export async function inTurns(
  runs: number,
  sides: Readonly<Record<string, () => Promise<void> | void>>,
): Promise<Record<string, Sample>> {
  const times: Record<string, number[]> = {};
  for (let i = -2; i < runs; i++) {
    for (const [name, use] of Object.entries(sides)) {
      const started = performance.now();
      await use();
      if (i >= 0) (times[name] ??= []).push(performance.now() - started);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, summarize(values)]));
}

export function milliseconds({ median, low, high }: Sample): string {
  return `${median.toFixed(1)} ms (${low.toFixed(1)}–${high.toFixed(1)})`;
}

export function atMost(name: string, figure: number, limit: number, shown: string, unit: string): Row {
  return { name, figure: shown, target: `≤ ${limit}${unit}`, ok: figure <= limit };
}
