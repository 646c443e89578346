import type { ChecksFacts } from "../checks/checks-facts.ts";
import type { RedReason } from "../jobs/job-status.ts";

/** What one of several coders came to; plain JSON, kept with the reply. */
export interface CoderCandidateFacts {
  readonly agent: string;
  /** `green`: nothing is red. `said`: words instead of a patch. `none`: no proposal that could be carried out. */
  readonly outcome: "green" | RedReason | "said" | "none";
  /** The first line of its plan, of its words, or of why there is nothing. */
  readonly words: string;
  readonly attempts: number;
  readonly files: number;
  /** Lines that it adds and removes. */
  readonly size: number;
  /** A test that it brings fails on the old code. */
  readonly provesFix: boolean;
  readonly checks: ChecksFacts | null;
}

/** What made one better than the next: `only`: nobody else had a draft. `first`: nothing did. */
export type ChosenBy = "only" | "checks" | "test" | "size" | "first";

export interface CoderCandidatesFacts {
  readonly chosen: CoderCandidateFacts;
  readonly by: ChosenBy;
  /** Their drafts are discarded. */
  readonly others: readonly CoderCandidateFacts[];
}
