/** What one of several tries came to. */
export interface CandidateFacts {
  /** Why it ended before its end; null when it did not. */
  readonly failure: string | null;
  /** Exit codes of the checks that ran over it. */
  readonly checks: readonly number[];
  readonly patchBytes: number;
}

/**
 * The places of the candidates, best first: those that came to their end before those that did not, a change before none, fewer
 * failing checks before more, the smaller change before the larger. What is equal keeps its order.
 */
export function rankCandidates(candidates: readonly CandidateFacts[]): readonly number[] {
  return candidates.map((_, place) => place).sort((a, b) => compareCandidates(candidates, a, b));
}

function compareCandidates(all: readonly CandidateFacts[], a: number, b: number): number {
  const [left, right] = [rankingKeys(all[a] as CandidateFacts), rankingKeys(all[b] as CandidateFacts)];
  const different = left.findIndex((key, i) => key !== right[i]);
  return different === -1 ? a - b : (left[different] as number) - (right[different] as number);
}

function rankingKeys({ failure, checks, patchBytes }: CandidateFacts): readonly number[] {
  return [
    failure === null ? 0 : 1,
    patchBytes > 0 ? 0 : 1,
    checks.filter((exitCode) => exitCode !== 0).length,
    patchBytes,
  ];
}
