export type Interval = ReturnType<typeof wilsonInterval>;

/** Wilson's score interval of `count` among `of`; everything where there is nothing to count. */
export function wilsonInterval(count: number, of: number, z = 1.96) {
  if (of === 0) return { low: 0, high: 1 };
  const share = count / of;
  const centre = share + z ** 2 / (2 * of);
  const spread = z * Math.sqrt((share * (1 - share)) / of + z ** 2 / (4 * of ** 2));
  const whole = 1 + z ** 2 / of;
  return { low: Math.max(0, (centre - spread) / whole), high: Math.min(1, (centre + spread) / whole) };
}

/** McNemar's exact test: how likely pairs differ at least this unevenly where both sides are equally good. */
export function mcNemarExact(forOne: number, forOther: number): number {
  const all = forOne + forOther;
  const fewer = Math.min(forOne, forOther);
  let [tail, term] = [0, 0.5 ** all];
  for (let k = 0; k <= fewer; k++) {
    tail += term;
    term *= (all - k) / (k + 1);
  }
  return Math.min(1, 2 * tail);
}

/** 5 % on each side. */
const Z_90 = 1.645;

export type PairedComparison = ReturnType<typeof comparePairs>;

/**
 * Compares two contestants case by case; repeats of a case are averaged, as they are not independent. The interval is Agresti and
 * Min's for matched pairs: half a pair is added to each outcome, so that a few cases without a difference prove no equality.
 */
export function comparePairs(
  pairs: readonly { readonly one: readonly boolean[]; readonly other: readonly boolean[] }[],
) {
  const differences = pairs
    .filter(({ one, other }) => one.length > 0 && other.length > 0)
    .map(({ one, other }) => shareOf(one) - shareOf(other));
  /** Cases that both played and that count for both. */
  const cases = differences.length;
  const sum = differences.reduce((all, one) => all + one, 0);
  const squares = differences.reduce((all, one) => all + one ** 2, 0);
  const centre = sum / (cases + 2);
  const spread = Z_90 * Math.sqrt(Math.max(0, (squares + 1) / (cases + 2) - centre ** 2) / (cases + 2));
  const [better, worse] = [
    differences.filter((one) => one > 0).length,
    differences.filter((one) => one < 0).length,
  ];
  return {
    cases,
    /** Cases that the first solved more often than the second, and the other way round. */
    better,
    worse,
    /** The first's share of solved plays less the second's, with its 90 % interval. */
    difference: cases === 0 ? 0 : sum / cases,
    interval: { low: Math.max(-1, centre - spread), high: Math.min(1, centre + spread) },
    p: mcNemarExact(better, worse),
  };
}

const shareOf = (plays: readonly boolean[]) => plays.filter(Boolean).length / plays.length;

/** How much worse a cheaper contestant may be, as a share of the cases, to count as good enough. */
const MOST_WORSE = -0.1;

/** Whether the first is shown to be at most that much worse than the second. */
export function isNonInferior({ interval }: PairedComparison): boolean {
  return interval.low > MOST_WORSE;
}

export function isDistinct({ p }: PairedComparison): boolean {
  return p < 0.05;
}
