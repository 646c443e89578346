import { describe, expect, test } from "bun:test";
import { modelMessagesFor } from "../../../src/domain/texts/models.ts";
import { createFailures } from "../../../src/infrastructure/models/failures.ts";

const failures = createFailures(
  { provider: "p", model: "m", baseUrl: "http://h:1", apiKey: "sk-key-1234" },
  { messages: modelMessagesFor("en"), mask: (text) => text },
);
const of = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  failures.ofResponse(
    { status, headers: new Headers(headers) },
    typeof body === "string" ? body : JSON.stringify(body),
  );
const error = (message: string, more: object = {}) => ({ error: { message, ...more } });

describe("what servers really say is understood", () => {
  test.each([
    [
      "OpenAI",
      400,
      error("Input tokens exceed the configured limit of 272000 tokens.", {
        code: "context_length_exceeded",
      }),
    ],
    [
      "OpenAI, by the minute",
      429,
      error(
        "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 31000.",
        { code: "rate_limit_exceeded" },
      ),
    ],
    ["a gateway", 400, error("tokens in request more than max tokens allowed")],
    [
      "Anthropic",
      413,
      { type: "error", error: { type: "request_too_large", message: "Request exceeds the maximum size" } },
    ],
    [
      "Anthropic with an answer",
      400,
      error("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
    ],
    [
      "DeepSeek",
      400,
      error("This model's maximum context length is 131072 tokens. However, you requested 140000 tokens"),
    ],
    [
      "Google",
      400,
      error("The input token count exceeds the maximum number of tokens allowed 1048576.", {
        status: "INVALID_ARGUMENT",
      }),
    ],
    [
      "vLLM",
      400,
      { object: "error", message: "This model's maximum context length is 4096 tokens.", code: 400 },
    ],
    [
      "llama.cpp",
      400,
      error("the request exceeds the available context size. try increasing it", {
        type: "exceed_context_size_error",
      }),
    ],
    [
      "LM Studio",
      400,
      { error: "The number of tokens to keep from the initial prompt is greater than the context length." },
    ],
    [
      "Groq",
      400,
      error("Please reduce the length of the messages or completion.", { code: "context_length_exceeded" }),
    ],
    ["Ollama", 500, { error: "the input length exceeds the context length" }],
    [
      "xAI",
      400,
      error("This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    ],
    ["Moonshot", 400, error("Invalid request: Your request exceeded model token limit: 262144")],
    ["Cerebras", 400, error("Please reduce the length. Current length is 10000 while limit is 8192")],
    [
      "TGI",
      422,
      { error: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000" },
    ],
    ["TGI, the input alone", 422, { error: "`inputs` must have less than 4095 tokens. Given: 5000" }],
    ["DashScope", 400, error("Range of input length should be [1, 30720]")],
    ["DashScope, worded", 400, error("The prompt exceeds the maximum allowed input length of 30720 tokens")],
    ["MiniMax", 400, error("invalid params, context window exceeds limit (2013)")],
    [
      "Mistral",
      400,
      { message: "Prompt contains 40000 tokens, too large for model with 32768 maximum context length" },
    ],
    ["Copilot", 400, error("prompt token count of 150000 exceeds the limit of 128000")],
    ["Z.ai", 400, error("Prompt exceeds max length", { code: "1261" })],
    [
      "SiliconFlow",
      400,
      { message: "length of prompt_tokens (40000) must be less than max_seq_len (32768)." },
    ],
    ["Bedrock", 400, { message: "Input is too long for requested model." }],
    ["Token limit", 400, error("Token limit exceeded")],
  ] as const)("too long: %s", (_, status, body) => {
    expect(of(status, body)).toMatchObject({ code: "context-too-long", retryable: false });
  });

  test.each([
    [
      "OpenAI without credit",
      429,
      error("You exceeded your current quota, please check your plan and billing details.", {
        code: "insufficient_quota",
      }),
      "rate-limited",
      false,
    ],
    [
      "Google by the minute",
      429,
      error("You exceeded your current quota, please check your plan and billing details.", {
        status: "RESOURCE_EXHAUSTED",
      }),
      "rate-limited",
      true,
    ],
    ["DeepSeek without credit", 402, error("Insufficient Balance"), "rate-limited", false],
    ["Anthropic overloaded", 529, error("Overloaded", { type: "overloaded_error" }), "server-error", true],
    ["a gateway's page", 502, "<html><h1>502 Bad Gateway</h1></html>", "server-error", true],
    [
      "OpenRouter, no such model",
      400,
      error("foo/bar is not a valid model ID", { code: 400 }),
      "unknown-model",
      false,
    ],
    ["Ollama, not pulled", 404, { error: "model 'x' not found" }, "unknown-model", false],
    [
      "Google, wrong key",
      400,
      error("API key not valid. Please pass a valid API key.", { status: "INVALID_ARGUMENT" }),
      "unauthorized",
      false,
    ],
    [
      "Google, wrong key in a list",
      400,
      [error("API key not valid. Please pass a valid API key.")],
      "unauthorized",
      false,
    ],
    [
      "a model that cannot use tools",
      400,
      { error: "registry.ollama.ai/library/x does not support tools" },
      "bad-request",
      false,
    ],
    [
      "llama.cpp without its templates",
      500,
      error("tools param requires --jinja flag", { code: 500, type: "server_error" }),
      "bad-request",
      false,
    ],
    ["a wrong address", 404, "404 page not found", "bad-request", false],
    [
      "Anthropic, no such model",
      404,
      { type: "error", error: { type: "not_found_error", message: "model: claude-sonet-4-5" } },
      "unknown-model",
      false,
    ],
    [
      "Anthropic, another thing not found",
      404,
      { type: "error", error: { type: "not_found_error", message: "Not found" } },
      "bad-request",
      false,
    ],
    [
      "Anthropic without money",
      402,
      { type: "error", error: { type: "billing_error", message: "There's an issue with your billing." } },
      "rate-limited",
      false,
    ],
    [
      "a field that is too long",
      400,
      error("Invalid 'input[0].content': string too long.", { code: "string_above_max_length" }),
      "bad-request",
      false,
    ],
    [
      "Groq, a call it cannot read",
      400,
      error("Tool call validation failed", { code: "tool_use_failed" }),
      "malformed",
      true,
    ],
  ] as const)("%s", (_, status, body, code, retryable) => {
    expect(of(status, body)).toMatchObject({ code, retryable, status });
  });

  test.each([
    [{ "retry-after": "7" }, {}, 7000],
    [{ "retry-after-ms": "250", "retry-after": "1" }, {}, 250],
    [{ "retry-after": new Date(Date.now() - 5000).toUTCString() }, {}, 0],
    [
      {},
      { error: { details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }] } },
      34_500,
    ],
    [{ "retry-after": "soon" }, {}, undefined],
  ])("a wait is read from %j %j", (headers, body, ms) => {
    expect(of(429, body, headers as Record<string, string>).retryAfterMs).toBe(ms as number);
  });

  test("a page is not repeated, a long story is cut, the key is not shown", () => {
    expect(of(502, "<html>…</html>").message).toBe("p (m) reported a server error: HTTP 502");
    expect(of(400, error("x".repeat(9000))).message.length).toBeLessThan(500);
    expect(of(401, error("bad key sk-key-1234")).message).not.toContain("sk-key-1234");
  });
});

test("a model that cannot call tools is answered with what helps", () => {
  expect(of(500, error("tools param requires --jinja flag")).message).toBe(
    "p (m) cannot call tools: tools param requires --jinja flag\n→ Start llama.cpp's server with --jinja, or choose a model that calls tools: /model",
  );
});
