import type { Protocol } from "./protocols.ts";

/** The errors as the providers word them. */
export interface ProviderError {
  readonly status: number;
  readonly body: object;
}

type Known = "context-length" | "unknown-model" | "unauthorized" | "no-credit" | "no-temperature";

const openai = (
  status: number,
  message: string,
  code: string | null,
  param: string | null = null,
): ProviderError => ({
  status,
  body: { error: { message, type: "invalid_request_error", param, code } },
});
const anthropic = (status: number, type: string, message: string): ProviderError => ({
  status,
  body: { type: "error", error: { type, message } },
});
const google = (code: number, status: string, message: string): ProviderError => ({
  status: code,
  body: { error: { code, status, message } },
});
const plain = (status: number, error: string): ProviderError => ({ status, body: { error } });

export function errorOf(
  protocol: Protocol,
  kind: Known,
  facts: { model: string; key: string },
): ProviderError {
  const { model, key } = facts;
  const table: Readonly<Record<Protocol, Readonly<Record<Known, ProviderError>>>> = {
    ollama: {
      "context-length": plain(400, "input length exceeds the context length"),
      "unknown-model": plain(404, `model '${model}' not found`),
      unauthorized: plain(401, `unauthorized ${key}`),
      "no-credit": plain(402, "insufficient balance"),
      "no-temperature": plain(400, "truncate is not supported"),
    },
    "openai-chat": {
      "context-length": openai(
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        "context_length_exceeded",
        "messages",
      ),
      "unknown-model": openai(
        404,
        `The model \`${model}\` does not exist or you do not have access to it.`,
        "model_not_found",
      ),
      unauthorized: openai(401, `Incorrect API key provided: ${key}.`, "invalid_api_key"),
      "no-credit": openai(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
      ),
      "no-temperature": openai(
        400,
        "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
        "unsupported_value",
        "temperature",
      ),
    },
    "openai-responses": {
      "context-length": openai(
        400,
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "context_length_exceeded",
        "input",
      ),
      "unknown-model": openai(
        400,
        `The requested model '${model}' does not exist.`,
        "model_not_found",
        "model",
      ),
      unauthorized: openai(401, `Incorrect API key provided: ${key}.`, "invalid_api_key"),
      "no-credit": openai(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
      ),
      "no-temperature": openai(
        400,
        "Unsupported parameter: 'temperature' is not supported with this model.",
        null,
        "temperature",
      ),
    },
    anthropic: {
      "context-length": anthropic(
        400,
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
      ),
      "unknown-model": anthropic(404, "not_found_error", `model: ${model} not found`),
      unauthorized: anthropic(401, "authentication_error", `invalid x-api-key ${key}`),
      "no-credit": anthropic(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API.",
      ),
      "no-temperature": anthropic(
        400,
        "invalid_request_error",
        "`temperature` is deprecated for this model.",
      ),
    },
    gemini: {
      "context-length": google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
      ),
      "unknown-model": google(404, "NOT_FOUND", `models/${model} is not found for API version v1beta`),
      unauthorized: google(400, "INVALID_ARGUMENT", `API key not valid. Please pass a valid API key. ${key}`),
      "no-credit": google(429, "RESOURCE_EXHAUSTED", "insufficient balance"),
      "no-temperature": google(400, "INVALID_ARGUMENT", "temperature is not supported for this model"),
    },
  };
  return table[protocol][kind];
}

/** Errors in the middle of a stream. */
export function problemFrame(protocol: Protocol): string {
  const sse = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
  switch (protocol) {
    case "ollama":
      return '{"error":"llama runner process has terminated"}\n';
    case "anthropic":
      return `event: error\n${sse({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })}`;
    case "openai-responses":
      return sse({ type: "error", code: "server_error", message: "The server had an error" });
    case "openai-chat":
      return sse({ error: { message: "The server had an error", type: "server_error", code: 500 } });
    case "gemini":
      return sse({ error: { code: 503, status: "UNAVAILABLE", message: "The model is overloaded." } });
  }
}
