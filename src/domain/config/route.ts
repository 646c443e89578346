/** Where a message can go. */
export const ROUTES = [
  "CHAT",
  "PLAN",
  "ANALYZE",
  "OPS",
  "RESEARCH",
  "CODE",
  "CODE1",
  "CODE2",
  "CODE3",
] as const;

export type Route = (typeof ROUTES)[number];

/** Routes that a coder answers with a proposal. */
export function isCoder(route: Route): boolean {
  return route === "CODE" || route === "CODE1" || route === "CODE2" || route === "CODE3";
}

/** Reads a route's name however it is written: `code3`, `CODE3`, `ＣＯＤＥ３`. */
export function readRoute(text: string): Route | undefined {
  const name = text.normalize("NFKC").trim().toUpperCase();
  return ROUTES.find((route) => route === name);
}

export type DecisionSource = "forced" | "explicit" | "rule" | "classifier" | "fallback";

export interface Decision {
  readonly route: Route;
  readonly source: DecisionSource;
  /** From 0 to 1. */
  readonly confidence: number;
  readonly reason: string;
}
