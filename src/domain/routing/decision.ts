import type { Route } from "./route.ts";

export type DecisionSource = "forced" | "explicit" | "rule" | "classifier" | "fallback";

export interface Decision {
  readonly route: Route;
  readonly source: DecisionSource;
  /** From 0 to 1. */
  readonly confidence: number;
  readonly reason: string;
}
