import type { Proposal } from "../../domain/coder/proposal.ts";
import type { Doubt } from "../../domain/drafts/check-edits.ts";
import type { CommandResult, JobResult, RedReason } from "../../domain/jobs/result.ts";
import type { ParseFailure, SkippedPart } from "../../domain/patch/patch-command.ts";
import type { WordsByLocale } from "../../domain/texts/worded.ts";

/** Why an answer was not carried out, as facts: the coder and the user get different wordings. */
export type SentBackReason =
  | { readonly kind: "unread" }
  | { readonly kind: "unparsed"; readonly failure: ParseFailure }
  | { readonly kind: "doubts"; readonly doubts: readonly Doubt[] }
  | { readonly kind: "skipped"; readonly parts: readonly SkippedPart[] }
  /** The answer did not end, and was ended. */
  | { readonly kind: "endless" };

export type CoderEnd =
  /** Words instead of a patch: an answer, or a question. `isExplained`: whether the coder said why, if it was asked to. */
  | {
      readonly kind: "said";
      readonly text: string;
      readonly reason?: string;
      readonly isExplained?: boolean;
      /** Parts of its empty patch that nothing carried out. */
      readonly skipped?: readonly SkippedPart[];
    }
  | { readonly kind: "planned"; readonly plan: string }
  /** The model did not answer before anything was carried out; `text` is for the user. `claimed`: its earlier words. */
  | { readonly kind: "unanswered"; readonly text: WordsByLocale; readonly claimed?: string }
  /** No proposal could be carried out; `why` is in the coder's own words, or names a setting. */
  | { readonly kind: "unusable"; readonly why: string; readonly reason?: SentBackReason }
  | { readonly kind: "refused"; readonly result: JobResult }
  | { readonly kind: "aborted" }
  /** Another coder's draft was taken. */
  | { readonly kind: "passed-over" }
  | {
      readonly kind: "worked";
      readonly proposal: Proposal;
      /** Null where `onRed` discards a red draft. */
      readonly result: JobResult | null;
      readonly story: CoderStory;
    };

export interface CoderEnding {
  readonly proposal: Proposal;
  readonly red: RedAttempt | null;
  readonly attempts: number;
}

export interface CoderStory {
  readonly attempts: number;
  /** The attempt whose draft is the result, if it is not the last: its checks were the best. */
  readonly best?: number;
  /** The remaining errors; null when it is green. */
  readonly red: RedAttempt | null;
  /** Why the coder stopped; null when it is green. */
  readonly stopped: CoderStopReason | null;
  /** The plans of attempts that a later one replaced. */
  readonly tried: readonly string[];
  /** The coder's last words without a patch. */
  readonly words: string;
}

export interface RedAttempt {
  readonly kind: RedReason;
  readonly failed: readonly CommandResult[];
  readonly brief: string;
  /** The coder was only asked to review it once more: it lands if there is no better answer. */
  readonly lands?: boolean;
}

export type CoderStopReason =
  /** `isLocal`: the limit of small local models. */
  | { readonly why: "attempts"; readonly limit: number; readonly isLocal?: boolean }
  /** The same failure occurred twice. */
  | { readonly why: "same" }
  /** The coder had nothing more to propose. */
  | { readonly why: "gave-up" }
  /** Others changed the same lines, and the coder did not resolve the conflict. */
  | { readonly why: "conflict" }
  /** The coder did not answer any more; `text` is for the user. */
  | { readonly why: "unanswered"; readonly text: WordsByLocale };
