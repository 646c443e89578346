import type { ChecksRecord } from "../checks/findings.ts";
import type { RedReason } from "../jobs/result.ts";

/** The result of one of several coders; plain JSON, kept with the reply. */
export interface CoderCandidateFacts {
  readonly agent: string;
  /** `green`: nothing is red. `said`: words instead of a patch. `none`: no proposal that could be carried out. */
  readonly outcome: "green" | RedReason | "said" | "none";
  /** The first line of its plan, of its words, or of the reason why there is nothing. */
  readonly words: string;
  readonly attempts: number;
  readonly files: number;
  /** Lines that it adds and removes. */
  readonly size: number;
  /** A test that it adds fails on the old code. */
  readonly provesFix: boolean;
  readonly checks: ChecksRecord | null;
}

/** Why the chosen draft ranks before the next. `only`: no other coder had a draft. `first`: they are equal. */
export type ChosenBy = "only" | "checks" | "test" | "size" | "first";

export interface CoderCandidatesFacts {
  readonly chosen: CoderCandidateFacts;
  readonly by: ChosenBy;
  /** Their drafts are discarded. */
  readonly others: readonly CoderCandidateFacts[];
}

type RankedCoderCandidate = Pick<CoderCandidateFacts, "outcome" | "checks" | "provesFix" | "size">;

const OUTCOMES: Readonly<Record<CoderCandidateFacts["outcome"], number>> = {
  green: 0,
  failing: 1,
  worse: 2,
  unended: 2,
  conflict: 2,
  hook: 2,
  "still-red": 1,
  "new-failing": 1,
  said: 3,
  none: 3,
};

const VERDICTS: Readonly<Record<ChecksRecord["verdict"], number>> = {
  better: 0,
  same: 1,
  "red-before": 2,
  "new-failing": 3,
  unknown: 4,
  "not-checked": 4,
  "still-red": 5,
  doubtful: 6,
  worse: 7,
};

/** Whether a new test fails on the old code. */
export function provesFix(checks: ChecksRecord | null): boolean {
  const { count = 0, passWithout = 0 } = checks?.newTests ?? {};
  return count > passWithout;
}

/** Compares by the checks: the outcome, weakened tests, what the checks show, the number of fixed tests. */
function compareByChecks(one: RankedCoderCandidate, other: RankedCoderCandidate): number {
  const places = ({ outcome, checks }: RankedCoderCandidate) => [
    OUTCOMES[outcome],
    checks?.weakensTests === true ? 1 : 0,
    VERDICTS[checks?.verdict ?? "not-checked"],
    -(checks?.mended?.length ?? 0),
  ];
  const [mine, theirs] = [places(one), places(other)];
  return mine.map((place, at) => place - (theirs[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

/** The best first, with the criterion that decides over the second: checks, a test that proves the fix, the smaller change. */
export function rankCoderCandidates<Candidate extends RankedCoderCandidate>(
  candidates: readonly Candidate[],
): { readonly ranked: readonly Candidate[]; readonly by: ChosenBy } {
  const proof = (one: RankedCoderCandidate, other: RankedCoderCandidate) =>
    Number(other.provesFix) - Number(one.provesFix);
  const size = (one: RankedCoderCandidate, other: RankedCoderCandidate) => one.size - other.size;
  const ranked = candidates.toSorted(
    (one, other) => compareByChecks(one, other) || proof(one, other) || size(one, other),
  );
  const [best, next] = ranked;
  if (best === undefined || next === undefined) return { ranked, by: "only" };
  if (compareByChecks(best, next) !== 0) return { ranked, by: "checks" };
  if (proof(best, next) !== 0) return { ranked, by: "test" };
  return { ranked, by: size(best, next) !== 0 ? "size" : "first" };
}
