export type Family = "claude" | "openai" | "deepseek" | "gemini" | "other";

const BY_NAME: readonly (readonly [RegExp, Family])[] = [
  [/claude/i, "claude"],
  [/deepseek/i, "deepseek"],
  [/gemini|gemma/i, "gemini"],
  [/gpt|codex|(^|\/)o[1-9](\b|-)/i, "openai"],
];

/** By the model's name, regardless of its provider. */
export function familyOf(model: string): Family {
  return BY_NAME.find(([pattern]) => pattern.test(model))?.[1] ?? "other";
}

/**
 * In which form a model is asked for a change. `whole`: each changed file in a block of its own. `edits`: the patch format of the
 * model's family. `json`: one file in an object that the server's grammar binds.
 */
export type AnswerForm = "whole" | "edits" | "json";

/** The facts of a model's failure that its text names. */
export interface ModelFacts {
  readonly provider: string;
  readonly model: string;
  /** The server's host and port, or the script. */
  readonly address: string;
  /** The server's message, masked and cut; of a limit, its seconds. */
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
  /** The answer was ended: it repeated itself, or was far longer than what was asked for. */
  | "endless"
  | "aborted"
  | "no-key"
  | "not-configured"
  | "refused-remote"
  | "over-budget"
  | "no-price"
  | "no-images";

/** Why a server did not list its models: no connection, a refused key, or an answer that is not a list. */
export type ListTrouble =
  | { readonly kind: "unreachable" }
  | { readonly kind: "refused"; readonly status: number }
  /** Status 200, but the answer is not a list. */
  | { readonly kind: "answered"; readonly status: number };

/** A failure of a model, or the reason why its answer cannot be used. */
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

export interface TaskUsage extends Omit<TokenCounts, "cachedTokens"> {
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

/** About how many tokens a text is: four Latin characters each, one for each character of Japanese. */
export function estimateTokens(text: string): number {
  let wide = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x2e7f) wide += 1;
  return wide + Math.ceil((text.length - wide) / 4);
}

/** The beginning of the quarter of an hour: days begin with one in every time zone. */
export function sliceOf(at: Date): Date {
  return new Date(Math.floor(at.getTime() / SLICE_MS) * SLICE_MS);
}

export const SLICE_MS = 15 * 60_000;

export interface UsageTotal extends TokenCounts {
  /** `provider/model`, a group's id, a chat's key, or `2026-03-01T09:15 provider/model` in UTC. */
  readonly name: string;
  readonly calls: number;
  /** Of the calls whose price is known. */
  readonly costUsd: number;
  /** Calls of models whose price is unknown. */
  readonly unpriced: number;
}

export function sumUsage(name: string, totals: readonly UsageTotal[]): UsageTotal {
  const of = (figure: Exclude<keyof UsageTotal, "name">) =>
    totals.reduce((all, total) => all + total[figure], 0);
  return {
    name,
    calls: of("calls"),
    inputTokens: of("inputTokens"),
    outputTokens: of("outputTokens"),
    cachedTokens: of("cachedTokens"),
    costUsd: of("costUsd"),
    unpriced: of("unpriced"),
  };
}

/** A source of models beside Ollama: a cloud, or a server that `OPENAI_BASE_URL` names. */
export interface ModelSource {
  /** Its name under `providers`. */
  readonly provider: string;
  readonly address: string;
  readonly local: boolean;
  /** The variable that holds its key; null: it needs none. */
  readonly keyVariable: string | null;
  /** Tokens that its one model takes, as the server was started; absent: unknown. */
  readonly window?: number | undefined;
  /** As it lists them; null: `trouble` says why not. */
  readonly models: readonly string[] | null;
  readonly trouble: ListTrouble | null;
  /** The shipped model, where there is one. */
  readonly usual: string | null;
  /** The settings that the configuration needs for it; null: nothing that is not shipped. */
  readonly settings: Readonly<Record<string, string | boolean | null>> | null;
}
