import type { Judgement } from "./verdict.ts";

/**
 * Why no check judged a change. `slow`: slower than `checks.auto_limit` by the last measurement. `untrusted`: nothing confines here,
 * and the folder is not trusted. `unavailable`: no throw-away view can be made.
 */
export type WhyNotChecked =
  | "no-checks"
  | "never"
  | "slow"
  | "dependencies-missing"
  | "cannot-run"
  | "documentation"
  | "no-change"
  | "red-before"
  | "untrusted"
  | "unavailable"
  | "aborted";

/** What a report says of checks: which ran, and what they showed. */
export interface ChecksFacts extends Judgement {
  /** As people type them. */
  readonly commands: readonly string[];
  /** A red result was run again and was another one. */
  readonly isFlaky: boolean;
  /** Checks that ended before the change, and over it not within the limit. */
  readonly unended?: { readonly commands: readonly string[]; readonly seconds: number };
  /** Null where checks judged. */
  readonly notChecked: WhyNotChecked | null;
}

export function notChecked(why: WhyNotChecked, commands: readonly string[] = []): ChecksFacts {
  return {
    commands,
    verdict: "not-checked",
    worse: [],
    mended: [],
    newFailing: [],
    weakened: [],
    weakensTests: false,
    counts: null,
    isFlaky: false,
    notChecked: why,
  };
}
