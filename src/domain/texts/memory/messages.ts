import type { DecisionSource } from "../../routing/decision.ts";
import type { RuleProblem } from "../../routing/rule.ts";

export interface WhyFacts {
  readonly route: string;
  readonly source: DecisionSource;
  readonly confidence: number;
  readonly reason: string;
  readonly message: string;
  /** `provider/model`, those that answered. */
  readonly models: readonly string[];
  readonly corrected: string | null;
}

export interface UsageLine {
  readonly name: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

export interface StoreTrouble {
  readonly kind: "sqlite" | "postgres";
  /** The file, or the address without a password. */
  readonly name: string;
  readonly detail: string;
  /** The file is there and is no store, or no longer one. */
  readonly damaged: boolean;
}

/** What is said about decisions, sessions and usage. */
export interface MemoryMessages {
  why(facts: WhyFacts): string;
  readonly noDecision: string;
  routeUsage(routes: readonly string[]): string;
  corrected(from: string, to: string): string;
  offered(pattern: string): string;
  readonly notOffered: string;
  remembered(pattern: string, route: string): string;
  readonly nothingToRemember: string;
  rule(place: number, pattern: string, route: string): string;
  readonly noRules: string;
  readonly forgetUsage: string;
  forgotten(pattern: string): string;
  ruleProblem(problem: RuleProblem): string;

  newSession(sessionId: string): string;
  readonly newFailed: string;
  resumed(sessionId: string, turns: number): string;
  readonly nothingToResume: string;

  readonly usageHeader: { readonly today: string; readonly chat: string; readonly days: string };
  usageLine(line: UsageLine): string;
  readonly noUsage: string;
  budgetLine(spentUsd: number, dailyUsd: number): string;
  storeUnavailable(trouble: StoreTrouble): string;
}
