import type { RuleId } from "../../policy/commands/rule.ts";

/** What is said of a rule: why, and what to do instead. */
export interface RuleText {
  readonly reason: string;
  readonly instead: string;
}

export interface CommandMessages {
  /** `name`: what the command was decided by; `detail`: what the parser said. */
  rule(id: RuleId, facts: { readonly name: string; readonly detail: string }): RuleText;
  refused(facts: { readonly rule: RuleId; readonly command: string; readonly text: RuleText }): string;
}
