import type { TestCounts } from "../checks/test-results.ts";

/**
 * One thing that happened to a task. Steps are only ever added: progress, what a resumed coder is told and the final report are
 * made of them.
 */
export type TaskStep = StepFacts & {
  readonly at: string;
  /** Which of several candidates it happened to. */
  readonly candidate?: number;
};

export type StepFacts =
  /** `again`: it had ended, or its process had, and goes on from what was kept. */
  | { readonly kind: "taken-up"; readonly again: boolean }
  | { readonly kind: "phase"; readonly phase: string }
  | { readonly kind: "planned"; readonly plan: readonly string[]; readonly environment: string | null }
  /** `troubles`: what did not go well, such as an installation that failed. */
  | { readonly kind: "prepared"; readonly environment: string; readonly troubles: readonly string[] }
  /** An answer of the model, and what it used. */
  | {
      readonly kind: "said";
      readonly text: string;
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly costUsd: number;
    }
  | {
      readonly kind: "command";
      readonly command: string;
      readonly exitCode: number;
      readonly durationMs: number;
      /** Head and tail of what it printed. */
      readonly output: string;
    }
  | { readonly kind: "edited"; readonly path: string; readonly ok: boolean }
  | {
      readonly kind: "checked";
      readonly command: string;
      readonly exitCode: number | null;
      readonly durationMs: number;
      readonly counts: TestCounts | null;
    }
  /** The model's server could not answer for a while. */
  | { readonly kind: "waited"; readonly code: string; readonly waitMs: number }
  /** The conversation was too long for the model and was cut. */
  | { readonly kind: "compacted"; readonly messages: number }
  /** The change so far, kept for whoever goes on. */
  | { readonly kind: "kept"; readonly bytes: number }
  /** Of several candidates one was kept. */
  | { readonly kind: "chosen"; readonly candidate: number; readonly discarded: readonly number[] }
  | {
      readonly kind: "published";
      readonly branch: string;
      readonly commit: string;
      readonly url: string | null;
    }
  | {
      readonly kind: "ended";
      readonly state: string;
      readonly code: string | null;
      readonly message: string;
    };
