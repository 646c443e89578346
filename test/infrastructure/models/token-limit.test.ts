import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tokenLimitIn } from "../../../src/infrastructure/models/generate-answer.ts";
import { answerOf, ask, testParts } from "../../contracts/model-kit.ts";
import { openStubModel, WIRES } from "../../contracts/stub-model.ts";
import { type ModelServer, startModelServer } from "../../fakes/model-server/server.ts";

describe("a refusal names how long an answer may be", () => {
  test.each([
    [
      "OpenAI",
      "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.",
      16_384,
      true,
    ],
    [
      "Anthropic",
      "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
      8192,
      true,
    ],
    ["DeepSeek", "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192, true],
    [
      "Groq",
      "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
      8192,
      true,
    ],
    [
      "Google",
      "Unable to submit request because it has a maxOutputTokens value of 32000 but the supported range is from 1 (inclusive) to 8193 (exclusive).",
      8192,
      true,
    ],
    ["with separators", "max_tokens must be at most 16,384 tokens", 16_384, true],
    [
      "vLLM",
      "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 16384 tokens and your request has 1000 input tokens (32000 > 16384 - 1000).",
      15_384,
      false,
    ],
    [
      "OpenRouter",
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (108000 of text input, 32000 in the output). Please reduce the length of either one.",
      23_072,
      false,
    ],
    [
      "Anthropic, with the request",
      "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
      10_000,
      false,
    ],
    [
      "TGI",
      "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens and 32000 `max_new_tokens`",
      1096,
      false,
    ],
  ] as const)("%s", (_, text, tokens, lasting) => {
    expect(tokenLimitIn(text, 32_000)).toEqual({ tokens, lasting });
  });

  test.each([
    ["too long whatever is asked for", "prompt is too long: 250000 tokens > 200000 maximum"],
    ["no room for an answer", "input length and `max_tokens` exceed context limit: 199990 + 32000 > 200000"],
    ["another parameter", "Unsupported parameter: 'max_tokens' is not supported with this model"],
    ["a name with numbers", "max_tokens is wrong for gpt-3.5-turbo-0613 and claude-3-5-sonnet"],
  ])("nothing: %s", (_, text) => {
    expect(tokenLimitIn(text, 32_000)).toBeUndefined();
  });
});

describe("a model that takes less is asked for what it takes", () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer();
  });
  afterAll(() => server.stop());
  const refusal = (message: string) => ({
    fault: { kind: "status" as const, status: 400, body: JSON.stringify({ error: { message } }) },
  });
  const limitsOf = (count: number) => server.requests.slice(-count).map(({ body }) => body.max_tokens);
  const open = () => {
    const kind = WIRES.find(({ type }) => type === "openai-compatible");
    if (kind === undefined) throw new Error("no wire");
    return openStubModel(kind, server, testParts([]));
  };

  test("at once, and from then on", async () => {
    const model = open();
    server.say(refusal("the valid range of max_tokens is [1, 500]"), { text: "yes" });
    expect((await answerOf(model, ask("x", { maxTokens: 32_000 }))).text).toBe("yes");
    expect((await answerOf(model, ask("x", { maxTokens: 32_000 }))).text).toBe("yes");
    expect(limitsOf(3)).toEqual([32_000, 500, 500]);
  });

  test("only once where the request itself took the room", async () => {
    const model = open();
    const message = "context limit of max_tokens: 600 + 1000 > 1200";
    server.say(refusal(message), { text: "yes" });
    await answerOf(model, ask("x"));
    await answerOf(model, ask("x"));
    expect(limitsOf(3)).toEqual([1000, 600, 1000]);
  });
});
