import type { Route } from "../config/route.ts";

/** One entry of the rule dictionary, as the configuration and the shipped file write it. */
export interface Rule {
  /** A regular expression, matched on a clause of the normalised message, case ignored. */
  readonly pattern: string;
  readonly route: Route;
  readonly confidence: number;
  /** Messages that the rule must match, and must not; checked when it is loaded. */
  readonly match?: readonly string[] | undefined;
  readonly not_match?: readonly string[] | undefined;
}

export type RuleOrigin = "config" | "learned" | "shipped";

export interface CompiledRule {
  readonly pattern: string;
  readonly route: Route;
  readonly confidence: number;
  readonly origin: RuleOrigin;
  readonly regex: RegExp;
}

/** Why a rule is not used. */
export type RuleProblem =
  | { readonly kind: "not-a-pattern"; readonly pattern: string; readonly detail: string }
  /** It could take for ever on some message. */
  | { readonly kind: "catastrophic"; readonly pattern: string; readonly detail: string }
  | {
      readonly kind: "example";
      readonly pattern: string;
      readonly example: string;
      readonly expected: boolean;
    };

/** Full-width forms of what has a meaning in a pattern: whoever writes `できますか？` means the question mark. */
const WIDE_SYNTAX = /[（）［］｛｝．＊＋？＾＄｜＼／]/gu;

/** A pattern in the form that messages are brought into. */
export function normalPattern(pattern: string): string {
  return pattern.replace(WIDE_SYNTAX, (wide) => `\\${wide.normalize("NFKC")}`).normalize("NFKC");
}
