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

/** An example route for the hint on correcting a decision: never the route that was taken, nor the one it was corrected to. */
export function otherRoute(...taken: readonly (string | null)[]): Route {
  const coded = taken.some((route) => route?.startsWith("CODE"));
  const examples: readonly Route[] = coded ? ["CHAT", "ANALYZE"] : ["CODE", "CHAT"];
  return examples.find((route) => !taken.includes(route)) ?? "PLAN";
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
