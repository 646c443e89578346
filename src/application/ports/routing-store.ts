import type { Decision, Route } from "../../domain/config/route.ts";

/** Every decision, and the rules that a chat's user taught. Looked up by the chat's key only. */
export interface RoutingStore {
  record(decision: NewDecision): Promise<void>;
  /** The newest of a chat. */
  last(chatKey: string): Promise<StoredDecision | null>;
  /** What the user says it should have been; it stands beside what was decided. */
  correct(chatKey: string, decisionId: string, correction: Correction): Promise<void>;

  /** Newest first; one that cannot be read is left out. */
  rules(chatKey: string): Promise<LearnedRule[]>;
  /** A rule with the same pattern is replaced. */
  addRule(rule: LearnedRule): Promise<void>;
  removeRule(chatKey: string, pattern: string): Promise<boolean>;
}

export interface NewDecision extends Decision {
  readonly id: string;
  readonly chatKey: string;
  readonly sessionId: string;
  readonly at: string;
  /** The message's beginning, secrets masked. */
  readonly message: string;
}

export interface StoredDecision extends NewDecision {
  readonly correction: Correction | null;
}

export interface Correction {
  readonly route: Route;
  /** A rule that was offered and waits for a yes; null once it is answered or when none could be made. */
  readonly offered: string | null;
}

export interface LearnedRule {
  readonly chatKey: string;
  readonly pattern: string;
  readonly route: Route;
  readonly confidence: number;
  /** The message it was learned from. */
  readonly example: string;
  readonly learnedAt: string;
}
