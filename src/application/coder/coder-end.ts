import type { CommandResult } from "../../domain/jobs/result.ts";
import type { Proposal } from "../../domain/coder/proposal-proposal.ts";
import type { Worded } from "../../domain/texts/worded.ts";
import type { RedReason as WhyRed } from "../../domain/jobs/job-status.ts";
import type { Execution } from "../jobs/execution.ts";

/** How a coder's work on one message ended. */
export type CoderEnd =
  /** Words instead of a patch: an answer, or a question. */
  | { readonly kind: "said"; readonly text: string }
  | { readonly kind: "planned"; readonly plan: string }
  /** The model gave no answer before anything was carried out; `text` is for the user. */
  | { readonly kind: "unanswered"; readonly text: Worded }
  /** No proposal could be carried out; `why` is for the user. */
  | { readonly kind: "unusable"; readonly why: string }
  | { readonly kind: "refused"; readonly execution: Execution }
  | { readonly kind: "aborted" }
  /** Another coder's draft was taken. */
  | { readonly kind: "passed-over" }
  | {
      readonly kind: "worked";
      readonly proposal: Proposal;
      /** Null where red was to be thrown away. */
      readonly execution: Execution | null;
      readonly story: CoderStory;
    };

/** What a coder would end with. */
export interface CoderEnding {
  readonly proposal: Proposal;
  readonly red: RedAttempt | null;
  readonly attempts: number;
}

/** What a reply tells of the way to a result; plain JSON. */
export interface CoderStory {
  readonly attempts: number;
  /** What is still wrong; null when it is green. */
  readonly red: RedAttempt | null;
  /** Why the coder did not go on; null when it is green. */
  readonly stopped: CoderStopReason | null;
  /** The plans of attempts that a later one replaced. */
  readonly tried: readonly string[];
  /** The coder's last words, where it had no patch any more. */
  readonly words: string;
}

export interface RedAttempt {
  readonly kind: WhyRed;
  readonly failed: readonly CommandResult[];
  readonly brief: string;
}

export type CoderStopReason =
  | { readonly why: "attempts"; readonly limit: number }
  /** The same failure came twice. */
  | { readonly why: "same" }
  /** The coder had nothing more to propose. */
  | { readonly why: "gave-up" }
  /** No further answer came; `text` is for the user. */
  | { readonly why: "unanswered"; readonly text: Worded };
