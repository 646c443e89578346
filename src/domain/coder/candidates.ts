import type { Verdict } from "../checks/verdict.ts";
import type { ChosenBy, CoderCandidateFacts } from "./heads-facts.ts";

type RankedCoderCandidate = Pick<CoderCandidateFacts, "outcome" | "checks" | "provesFix" | "size">;

const OUTCOMES: Readonly<Record<CoderCandidateFacts["outcome"], number>> = {
  green: 0,
  failing: 1,
  worse: 2,
  unended: 2,
  said: 3,
  none: 3,
};

const VERDICTS: Readonly<Record<Verdict, number>> = {
  better: 0,
  same: 1,
  "red-before": 2,
  "new-failing": 3,
  unknown: 4,
  "not-checked": 4,
  worse: 5,
};

/** By the checks: what they demand, who weakens them, what they show, how many tests were mended. */
export function compareByChecks(one: RankedCoderCandidate, other: RankedCoderCandidate): number {
  const places = ({ outcome, checks }: RankedCoderCandidate) => [
    OUTCOMES[outcome],
    checks?.weakensTests === true ? 1 : 0,
    VERDICTS[checks?.verdict ?? "not-checked"],
    -(checks?.mended.length ?? 0),
  ];
  const [mine, theirs] = [places(one), places(other)];
  return mine.map((place, at) => place - (theirs[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

/** The best first, and by what it is better than the second: checks, a test that proves the fix, the smaller change. */
export function rankCoderCandidates<Head extends RankedCoderCandidate>(
  heads: readonly Head[],
): { readonly ranked: readonly Head[]; readonly by: ChosenBy } {
  const proof = (one: RankedCoderCandidate, other: RankedCoderCandidate) =>
    Number(other.provesFix) - Number(one.provesFix);
  const size = (one: RankedCoderCandidate, other: RankedCoderCandidate) => one.size - other.size;
  const ranked = heads.toSorted(
    (one, other) => compareByChecks(one, other) || proof(one, other) || size(one, other),
  );
  const [best, next] = ranked;
  if (best === undefined || next === undefined) return { ranked, by: "only" };
  if (compareByChecks(best, next) !== 0) return { ranked, by: "checks" };
  if (proof(best, next) !== 0) return { ranked, by: "test" };
  return { ranked, by: size(best, next) !== 0 ? "size" : "first" };
}
