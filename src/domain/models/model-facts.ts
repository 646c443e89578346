export type Family = "claude" | "openai" | "deepseek" | "gemini" | "other";

const BY_NAME: readonly (readonly [RegExp, Family])[] = [
  [/claude/i, "claude"],
  [/deepseek/i, "deepseek"],
  [/gemini|gemma/i, "gemini"],
  [/gpt|codex|(^|\/)o[1-9](\b|-)/i, "openai"],
];

/** By the model's name, wherever it is served. */
export function familyOf(model: string): Family {
  return BY_NAME.find(([pattern]) => pattern.test(model))?.[1] ?? "other";
}

/** The facts of a model's failure that its text names. */
export interface ModelFacts {
  readonly provider: string;
  readonly model: string;
  /** The server's host and port, or the script. */
  readonly address: string;
  /** What the server said, masked and cut; of a limit, its seconds. */
  readonly detail: string;
  /** How long the server asks to be left alone. */
  readonly waitSeconds?: number;
}

/** Why a model gave no answer, as the model's port tells it. */
export type ModelFailureCode =
  | "unreachable"
  | "timeout"
  | "rate-limited"
  | "server-error"
  | "unauthorized"
  | "unknown-model"
  | "context-too-long"
  | "bad-request"
  | "cut-off"
  | "empty"
  | "malformed"
  | "aborted"
  | "no-key"
  | "not-configured"
  | "refused-remote"
  | "over-budget";

/** Why a server did not list its models: no connection, a refused key, or an answer that is no list. */
export type ListTrouble =
  | { readonly kind: "unreachable" }
  | { readonly kind: "refused"; readonly status: number }
  /** Status 200: what came is no list. */
  | { readonly kind: "answered"; readonly status: number };

/** A failure of a model, and how an answer can be of no use though it came. */
export type ModelTrouble = ModelFailureCode | "cut-by-length" | "filtered" | "deadline";

/** US dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Input read from the provider's cache; the price of input where the provider makes no difference. */
  readonly cached: number;
}

export type PriceTable = Readonly<Record<string, Price>>;

/** `cachedTokens` are part of `inputTokens`. */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
}

const MILLION = 1_000_000;
const FREE: Price = { input: 0, output: 0, cached: 0 };

/** What the default models cost, as far as known here: lists change, and `budget.prices` wins over it. */
export const SHIPPED_PRICES: PriceTable = {
  "claude-sonnet-4-6": { input: 3, output: 15, cached: 0.3 },
  "gpt-5.1": { input: 1.25, output: 10, cached: 0.125 },
  "deepseek-chat": { input: 0.28, output: 0.42, cached: 0.028 },
};

/** Null: nobody said what this model costs. A local model costs nothing unless the table says otherwise. */
export function priceOf(
  model: { readonly model: string; readonly local: boolean },
  table: PriceTable = {},
): Price | null {
  const listed = Object.hasOwn(table, model.model) ? table[model.model] : undefined;
  if (listed !== undefined) return listed;
  if (model.local) return FREE;
  return Object.hasOwn(SHIPPED_PRICES, model.model) ? (SHIPPED_PRICES[model.model] ?? null) : null;
}

/** What an answer cost by the table; null where nobody said what its model costs. */
export function costBy(table: PriceTable) {
  return (model: Parameters<typeof priceOf>[0], usage: TokenCounts): number | null => {
    const price = priceOf(model, table);
    return price === null ? null : costOf(usage, price);
  };
}

/** In US dollars. */
export function costOf(usage: TokenCounts, price: Price): number {
  const cached = Math.min(usage.cachedTokens, usage.inputTokens);
  const fresh = usage.inputTokens - cached;
  return (fresh * price.input + cached * price.cached + usage.outputTokens * price.output) / MILLION;
}

export interface TaskUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

export const NO_USAGE: TaskUsage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

export function addUsage(a: TaskUsage, b: TaskUsage): TaskUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    costUsd: a.costUsd + b.costUsd,
  };
}
