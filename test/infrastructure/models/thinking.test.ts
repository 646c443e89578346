/** How much a model is asked to think, and that its thoughts go back to it, and only to it. */
import { describe, expect, test } from "bun:test";
import type {
  Effort,
  ModelMessage,
  ModelRequest,
  ModelThoughts,
} from "../../../src/application/ports/models.ts";
import type { ModelSettings } from "../../../src/infrastructure/models/model-settings.ts";
import { answerOf } from "../../contracts/model-kit.ts";
import { WIRES } from "../../contracts/stub-model.ts";
import { openRecorded, requestOf } from "./recorded-answer.ts";

const signal = new AbortController().signal;

function settingsOf(
  type: ModelSettings["type"],
  model: string,
  more: Partial<ModelSettings> = {},
): ModelSettings {
  return {
    type,
    provider: "p",
    model,
    local: false,
    baseUrl: "http://h/v1",
    apiKey: "key",
    keyVariable: undefined,
    maxTokens: 32_000,
    temperature: null,
    effort: null,
    ...more,
  };
}

function bodyOf(
  type: ModelSettings["type"],
  model: string,
  request: Partial<ModelRequest> = {},
  { without = [], ...more }: Partial<ModelSettings> & { readonly without?: readonly string[] } = {},
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
): any {
  const settings = settingsOf(type, model, more);
  const wire = WIRES.find((one) => one.type === type)?.wire(settings);
  const asked = { messages: [{ role: "user", text: "hi" } as const], signal, ...request };
  return wire?.request(asked, new Set(without)).body;
}

describe("an effort is worded as the provider wants it", () => {
  test.each([
    [
      "anthropic",
      "claude-sonnet-4-6",
      "high",
      { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
    ],
    [
      "anthropic",
      "claude-sonnet-4-5-20250929",
      "low",
      { thinking: { type: "enabled", budget_tokens: 2048 } },
    ],
    [
      "anthropic",
      "claude-3-7-sonnet-latest",
      "medium",
      { thinking: { type: "enabled", budget_tokens: 8192 } },
    ],
    [
      "anthropic",
      "claude-opus-5",
      "medium",
      { thinking: { type: "adaptive" }, output_config: { effort: "medium" } },
    ],
    ["openai", "gpt-5.1", "off", { reasoning: { effort: "none" }, include: ["reasoning.encrypted_content"] }],
    ["openai", "gpt-5", "off", { reasoning: { effort: "minimal" } }],
    ["openai", "o3", "medium", { reasoning: { effort: "medium" } }],
    ["openai-compatible", "kimi-k2", "low", { reasoning_effort: "low" }],
    ["openai-compatible", "deepseek-chat", "high", { thinking: { type: "enabled" } }],
    ["openai-compatible", "deepseek-chat", "off", { thinking: { type: "disabled" } }],
    [
      "google",
      "gemini-3-pro-preview",
      "off",
      { generationConfig: { thinkingConfig: { thinkingLevel: "low" } } },
    ],
    ["google", "gemini-3-flash", "high", { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } }],
    ["google", "gemini-2.5-flash", "off", { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
    [
      "google",
      "gemini-2.5-pro",
      "medium",
      { generationConfig: { thinkingConfig: { thinkingBudget: 8192 } } },
    ],
    ["ollama", "qwen3:8b", "off", { think: false }],
    ["ollama", "qwen3:8b", "low", { think: true }],
    ["ollama", "gpt-oss:20b", "medium", { think: "medium" }],
  ] as const)("%s %s %s", (type, model, effort, part) => {
    expect(bodyOf(type, model, { effort })).toMatchObject(part);
    expect(bodyOf(type, model, {}, { effort })).toMatchObject(part);
  });

  test.each(WIRES.map(({ type }) => type))("%s is left alone where nobody names one", (type) => {
    const text = JSON.stringify(bodyOf(type, "gpt-5.1"));
    expect(text).not.toMatch(/"(thinking|think|reasoning|reasoning_effort|thinkingConfig|output_config)"/);
    expect(text).not.toContain('"temperature"');
  });

  test("a model of OpenAI's that does not think is not asked to", () => {
    const body = bodyOf("openai", "gpt-4.1", { effort: "high" });
    expect(body).not.toHaveProperty("reasoning");
    expect(body).not.toHaveProperty("include");
  });

  test("Anthropic takes no temperature beside it, and a budget leaves room for the answer", () => {
    const body = bodyOf("anthropic", "claude-sonnet-4-5", {
      effort: "high",
      temperature: 0.5,
      maxTokens: 8000,
    });
    expect(body.thinking).toEqual({ type: "enabled", budget_tokens: 4000 });
    expect(body).not.toHaveProperty("temperature");
  });

  test("what a server refused is left out", () => {
    const ask = (type: ModelSettings["type"], model: string, effort: Effort, ...without: string[]) =>
      bodyOf(type, model, { effort }, { without });
    expect(ask("anthropic", "some-claude", "low", "adaptive").thinking).toMatchObject({ type: "enabled" });
    expect(ask("anthropic", "some-claude", "low", "thinking")).not.toHaveProperty("thinking");
    expect(ask("ollama", "gemma:2b", "low", "think")).not.toHaveProperty("think");
    expect(ask("openai-compatible", "m", "low", "reasoning_effort")).not.toHaveProperty("reasoning_effort");
  });
});

/** The thoughts of an answer, and how they stand in the next request. */
async function goingBack(wire: ModelSettings["type"], frames: readonly object[]) {
  const recorded = { wire, status: 200, type: "text/event-stream", headers: {}, tools: [], text_body: "" };
  const text = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
  const model = openRecorded(recorded, [new TextEncoder().encode(text)]);
  const { thoughts, toolCalls, text: said } = await answerOf(model, requestOf(recorded));
  const next = (whose: string, kept?: ModelThoughts) =>
    bodyOf(wire, whose, {
      messages: [
        { role: "user", text: "hi" },
        { role: "assistant", text: said, toolCalls, ...(kept !== undefined && { thoughts: kept }) },
        ...toolCalls.map(({ id, name }): ModelMessage => ({ role: "tool", callId: id, name, text: "seen" })),
      ],
    });
  const stored = thoughts && (JSON.parse(JSON.stringify(thoughts)) as ModelThoughts);
  return { mine: next("recorded", stored), other: next("another", stored), lost: next("recorded") };
}

describe("thoughts are sent back with the calls that followed them, in their order, and to no other model", () => {
  test("Anthropic's signed and redacted ones", async () => {
    const start = (index: number, content_block: object) => ({
      type: "content_block_start",
      index,
      content_block,
    });
    const delta = (index: number, piece: object) => ({ type: "content_block_delta", index, delta: piece });
    const stop = (index: number) => ({ type: "content_block_stop", index });
    const { mine, other } = await goingBack("anthropic", [
      { type: "message_start", message: {} },
      start(0, { type: "thinking", thinking: "" }),
      delta(0, { type: "thinking_delta", thinking: "let me " }),
      delta(0, { type: "thinking_delta", thinking: "look" }),
      delta(0, { type: "signature_delta", signature: "SIG" }),
      stop(0),
      start(1, { type: "text", text: "" }),
      delta(1, { type: "text_delta", text: "Looking." }),
      stop(1),
      start(2, { type: "redacted_thinking", data: "XYZ" }),
      stop(2),
      start(3, { type: "tool_use", id: "t1", name: "look", input: {} }),
      stop(3),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ]);
    expect(mine.messages[1].content).toEqual([
      { type: "thinking", thinking: "let me look", signature: "SIG" },
      { type: "text", text: "Looking." },
      { type: "redacted_thinking", data: "XYZ" },
      { type: "tool_use", id: "t1", name: "look", input: {} },
    ]);
    expect(JSON.stringify(other)).not.toContain("SIG");
  });

  test("OpenAI's encrypted ones", async () => {
    const { mine, other } = await goingBack("openai", [
      {
        type: "response.output_item.done",
        item: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "ENC" },
      },
      {
        type: "response.output_item.done",
        item: { type: "function_call", id: "fc_1", call_id: "c1", name: "look", arguments: "{}" },
      },
      { type: "response.completed", response: {} },
    ]);
    expect(mine.input.slice(1, 3)).toEqual([
      { type: "reasoning", summary: [], encrypted_content: "ENC" },
      { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
    ]);
    expect(JSON.stringify(other)).not.toContain("ENC");
  });

  test("OpenRouter's details, whose pieces are joined", async () => {
    const { mine } = await goingBack("openai-compatible", [
      {
        choices: [{ delta: { reasoning_details: [{ type: "reasoning.text", index: 0, text: "let me " }] } }],
      },
      {
        choices: [
          {
            delta: {
              reasoning_details: [{ type: "reasoning.text", index: 0, text: "look", signature: "SIG" }],
            },
          },
        ],
      },
      {
        choices: [
          { delta: { tool_calls: [{ index: 0, id: "c1", function: { name: "look", arguments: "{}" } }] } },
        ],
      },
      { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
    ]);
    expect(mine.messages[1].reasoning_details).toEqual([
      { type: "reasoning.text", index: 0, text: "let me look", signature: "SIG" },
    ]);
  });

  test("Google's signatures; where they are lost, what Google takes instead", async () => {
    const call = { functionCall: { name: "look", args: {} }, thoughtSignature: "SIG" };
    const { mine, other, lost } = await goingBack("google", [
      { candidates: [{ content: { parts: [call] }, finishReason: "STOP" }] },
    ]);
    expect(mine.contents[1].parts[0].thoughtSignature).toBe("SIG");
    expect(other.contents[1].parts[0].thoughtSignature).toBe("skip_thought_signature_validator");
    expect(lost).toEqual(other);
  });

  test("an older Claude that lost its thoughts continues without thinking", () => {
    const toolCalls = [{ id: "t1", name: "look", arguments: {} }];
    const messages: readonly ModelMessage[] = [
      { role: "user", text: "hi" },
      { role: "assistant", text: "", toolCalls },
      { role: "tool", callId: "t1", name: "look", text: "seen" },
    ];
    expect(bodyOf("anthropic", "claude-sonnet-4-5", { effort: "high", messages })).not.toHaveProperty(
      "thinking",
    );
  });
});

describe("images stand where the model takes them", () => {
  const messages: readonly ModelMessage[] = [
    { role: "user", text: "what is this?", images: [{ mediaType: "image/png", data: "QUJD" }] },
  ];
  test.each([
    ["anthropic", { type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } }],
    ["openai", { type: "input_image", image_url: "data:image/png;base64,QUJD" }],
    ["openai-compatible", { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } }],
    ["google", { inlineData: { mimeType: "image/png", data: "QUJD" } }],
    ["ollama", { images: ["QUJD"] }],
  ] as const)("%s", (type, part) => {
    const text = JSON.stringify(bodyOf(type, "m", { messages }));
    expect(text).toContain(JSON.stringify(part).slice(1, -1));
  });
});

test("requests that begin alike have one key for OpenAI's cache, or the caller's", () => {
  const keyOf = (request: Partial<ModelRequest>) => bodyOf("openai", "gpt-5.1", request).prompt_cache_key;
  const first = { role: "user", text: "mend it" } as const;
  const more = [first, { role: "assistant", text: "how?" } as const, { role: "user", text: "so" } as const];
  expect(keyOf({ system: "s", messages: [first] })).toBe(keyOf({ system: "s", messages: more }));
  expect(keyOf({ system: "s", messages: [first] })).not.toBe(keyOf({ system: "t", messages: [first] }));
  expect(keyOf({ cacheKey: "chat-1" })).toBe("chat-1");
});

test("a loop of Anthropic's is cached from its first request on", () => {
  const tools = [{ name: "look", description: "Looks.", parameters: { type: "object" } }];
  expect(JSON.stringify(bodyOf("anthropic", "m", { tools }))).toContain("cache_control");
});
