import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ModelMessage, ModelRequest } from "../../../src/application/ports/models.ts";
import { listOffered } from "../../../src/infrastructure/models/list-models.ts";
import type { ModelSettings } from "../../../src/infrastructure/models/model-settings.ts";
import { createWireModel } from "../../../src/infrastructure/models/wire-model.ts";
import { createAnthropicWire } from "../../../src/infrastructure/models/wires/anthropic.ts";
import { createGeminiWire } from "../../../src/infrastructure/models/wires/gemini.ts";
import { createOllamaWire } from "../../../src/infrastructure/models/wires/ollama.ts";
import { createOpenAiChatWire } from "../../../src/infrastructure/models/wires/openai-chat.ts";
import { createOpenAiResponsesWire } from "../../../src/infrastructure/models/wires/openai-responses.ts";
import { answerOf, testParts } from "../../contracts/model-kit.ts";
import { type ModelServer, startModelServer } from "../../fakes/model-server/server.ts";

const settings: ModelSettings = {
  type: "openai",
  provider: "p",
  model: "m-1",
  local: false,
  baseUrl: "http://h/v1/",
  apiKey: "key",
  keyVariable: undefined,
  maxTokens: 100,
  temperature: 0.7,
  effort: null,
};

const messages: readonly ModelMessage[] = [
  { role: "user", text: "read a.ts" },
  {
    role: "assistant",
    text: "Sure.",
    toolCalls: [
      { id: "c1", name: "read_file", arguments: { path: "a.ts" } },
      { id: "c2", name: "read_file", arguments: '{"path' },
    ],
  },
  { role: "tool", callId: "c1", name: "read_file", text: "content" },
  { role: "tool", callId: "c2", name: "read_file", text: "no JSON" },
  { role: "user", text: "thanks" },
];
const parameters = { type: "object", properties: { path: { type: "string" } } };
const request: ModelRequest = {
  system: "Answer in JSON.",
  messages,
  tools: [{ name: "read_file", description: "Reads.", parameters }],
  json: true,
  signal: new AbortController().signal,
};
const none = new Set<string>();

describe("a conversation with tools is written", () => {
  test("as Ollama wants it", () => {
    const wire = createOllamaWire(settings, { keepAlive: -1, maxContext: 4096 });
    expect(wire.request(request, none)).toEqual({
      url: "http://h/v1/api/chat",
      headers: { authorization: "Bearer key" },
      body: {
        model: "m-1",
        stream: true,
        keep_alive: -1,
        truncate: false,
        shift: false,
        options: { num_ctx: 4096, num_predict: 100, temperature: 0.7 },
        format: "json",
        tools: [{ type: "function", function: { name: "read_file", description: "Reads.", parameters } }],
        messages: [
          { role: "system", content: "Answer in JSON." },
          { role: "user", content: "read a.ts" },
          {
            role: "assistant",
            content: "Sure.",
            tool_calls: [
              { id: "c1", function: { name: "read_file", arguments: { path: "a.ts" } } },
              { id: "c2", function: { name: "read_file", arguments: { input: '{"path' } } },
            ],
          },
          { role: "tool", content: "content", tool_name: "read_file" },
          { role: "tool", content: "no JSON", tool_name: "read_file" },
          { role: "user", content: "thanks" },
        ],
      },
    });
  });

  test("as chat completions want it", () => {
    expect(createOpenAiChatWire(settings).request(request, none)).toMatchObject({
      url: "http://h/v1/chat/completions",
      headers: { authorization: "Bearer key" },
      body: {
        model: "m-1",
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 100,
        temperature: 0.7,
        response_format: { type: "json_object" },
        tools: [{ type: "function", function: { name: "read_file", description: "Reads.", parameters } }],
        messages: [
          { role: "system", content: "Answer in JSON." },
          { role: "user", content: "read a.ts" },
          {
            role: "assistant",
            content: "Sure.",
            tool_calls: [
              { id: "c1", type: "function", function: { name: "read_file", arguments: '{"path":"a.ts"}' } },
              {
                id: "c2",
                type: "function",
                function: { name: "read_file", arguments: JSON.stringify({ input: '{"path' }) },
              },
            ],
          },
          { role: "tool", tool_call_id: "c1", content: "content" },
          { role: "tool", tool_call_id: "c2", content: "no JSON" },
          { role: "user", content: "thanks" },
        ],
      },
    });
    const { body } = createOpenAiChatWire(settings).request(request, new Set(["max_tokens", "temperature"]));
    expect(body).toMatchObject({ max_completion_tokens: 100 });
    expect(body).not.toHaveProperty("max_tokens");
    expect(body).not.toHaveProperty("temperature");
  });

  test("as OpenAI's responses want it, with nothing stored", () => {
    expect(createOpenAiResponsesWire(settings).request(request, none)).toEqual({
      url: "http://h/v1/responses",
      headers: { authorization: "Bearer key" },
      body: {
        model: "m-1",
        stream: true,
        store: false,
        prompt_cache_key: expect.stringMatching(/^[0-9a-f]{32}$/),
        instructions: "Answer in JSON.",
        max_output_tokens: 100,
        temperature: 0.7,
        text: { format: { type: "json_object" } },
        tools: [{ type: "function", name: "read_file", description: "Reads.", parameters, strict: false }],
        input: [
          { role: "user", content: "read a.ts" },
          { role: "assistant", content: "Sure." },
          { type: "function_call", call_id: "c1", name: "read_file", arguments: '{"path":"a.ts"}' },
          {
            type: "function_call",
            call_id: "c2",
            name: "read_file",
            arguments: JSON.stringify({ input: '{"path' }),
          },
          { type: "function_call_output", call_id: "c1", output: "content" },
          { type: "function_call_output", call_id: "c2", output: "no JSON" },
          { role: "user", content: "thanks" },
        ],
      },
    });
  });

  test("as Anthropic wants it: results first in one turn, the conversation marked for the cache", () => {
    const mark = { cache_control: { type: "ephemeral" } };
    expect(createAnthropicWire(settings).request({ ...request, temperature: 1.5 }, none)).toEqual({
      url: "http://h/v1/messages",
      headers: { "anthropic-version": "2023-06-01", "x-api-key": "key" },
      body: {
        model: "m-1",
        max_tokens: 100,
        stream: true,
        system: [{ type: "text", text: "Answer in JSON." }],
        tools: [{ name: "read_file", description: "Reads.", input_schema: parameters }],
        temperature: 1,
        messages: [
          { role: "user", content: [{ type: "text", text: "read a.ts" }] },
          {
            role: "assistant",
            content: [
              { type: "text", text: "Sure." },
              { type: "tool_use", id: "c1", name: "read_file", input: { path: "a.ts" } },
              { type: "tool_use", id: "c2", name: "read_file", input: { input: '{"path' } },
            ],
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "c1", content: "content" },
              { type: "tool_result", tool_use_id: "c2", content: "no JSON" },
              { type: "text", text: "thanks", ...mark },
            ],
          },
        ],
      },
    });
  });

  test("Anthropic's long instructions are marked for the cache, a single question is not", () => {
    const ask = (system: string) =>
      createAnthropicWire(settings).request(
        { system, messages: [{ role: "user", text: "hi" }], signal: request.signal },
        none,
      ).body;
    expect(JSON.stringify(ask("x".repeat(5000)))).toContain("cache_control");
    expect(JSON.stringify(ask("short"))).not.toContain("cache_control");
  });

  test("as Google wants it", () => {
    const wire = createGeminiWire({ ...settings, baseUrl: "http://h/v1beta" });
    expect(wire.request(request, none)).toEqual({
      url: "http://h/v1beta/models/m-1:streamGenerateContent?alt=sse",
      headers: { "x-goog-api-key": "key" },
      body: {
        systemInstruction: { parts: [{ text: "Answer in JSON." }] },
        contents: [
          { role: "user", parts: [{ text: "read a.ts" }] },
          {
            role: "model",
            parts: [
              { text: "Sure." },
              {
                functionCall: { id: "c1", name: "read_file", args: { path: "a.ts" } },
                thoughtSignature: "skip_thought_signature_validator",
              },
              { functionCall: { id: "c2", name: "read_file", args: { input: '{"path' } } },
            ],
          },
          {
            role: "user",
            parts: [
              { functionResponse: { id: "c1", name: "read_file", response: { output: "content" } } },
              { functionResponse: { id: "c2", name: "read_file", response: { output: "no JSON" } } },
              { text: "thanks" },
            ],
          },
        ],
        tools: [
          {
            functionDeclarations: [
              { name: "read_file", description: "Reads.", parametersJsonSchema: parameters },
            ],
          },
        ],
        generationConfig: { maxOutputTokens: 100, temperature: 0.7 },
      },
    });
  });
});

describe("what a provider wants back", () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer();
  });
  afterAll(() => server.stop());
  const loop = async (wire: "gemini" | "openai-chat") => {
    const own = { ...settings, baseUrl: server.baseUrl(wire), local: true };
    const make = wire === "gemini" ? createGeminiWire : createOpenAiChatWire;
    const model = createWireModel(make(own), own, testParts([]));
    server.say({ reasoning: "hm", toolCalls: [{ name: "read_file", arguments: {} }] });
    const { toolCalls, thoughts } = await answerOf(model, request);
    if (thoughts === undefined) throw new Error("no thoughts");
    const stored = JSON.parse(JSON.stringify(thoughts)) as typeof thoughts;
    await answerOf(model, {
      messages: [
        { role: "user", text: "x" },
        { role: "assistant", text: "", toolCalls, thoughts: stored },
        { role: "tool", callId: toolCalls[0]?.id ?? "", name: "read_file", text: "y" },
      ],
      signal: request.signal,
    });
    return JSON.stringify(server.requests.at(-1)?.body);
  };

  test("Google's signatures go with their calls", async () => {
    expect(await loop("gemini")).toContain('"thoughtSignature":"signature of read_file"');
  });

  test("thoughts of a tool loop go back to a server that tells them", async () => {
    expect(await loop("openai-chat")).toContain('"reasoning_content":"hm"');
  });

  test("a server that does not stream is understood", async () => {
    const own = { ...settings, baseUrl: server.baseUrl("openai-chat"), local: true };
    const model = createWireModel(createOpenAiChatWire(own), own, testParts([]));
    server.say({ text: "yes", toolCalls: [{ name: "f", arguments: { a: 1 } }], fault: { kind: "whole" } });
    expect(await answerOf(model)).toMatchObject({
      text: "yes",
      toolCalls: [{ id: "call_0", name: "f", arguments: { a: 1 } }],
      finish: "tool-calls",
      usage: { inputTokens: 12, outputTokens: 7 },
    });
  });

  test("a call that a local model writes into its text is a call, and its JSON is not shown", async () => {
    const own = { ...settings, type: "ollama", baseUrl: server.url, local: true } as const;
    const wire = createOllamaWire(own, { keepAlive: -1, maxContext: 4096 });
    const model = createWireModel(wire, own, testParts([]));
    server.say({ chunks: ['{"name": "read_file", ', '"arguments": {"path": "a.ts"}}'] });
    expect(await answerOf(model, request)).toMatchObject({
      text: "",
      toolCalls: [{ name: "read_file", arguments: { path: "a.ts" } }],
      finish: "tool-calls",
    });
    expect((await answerOf(model, { ...request, tools: [] })).toolCalls).toEqual([]);
  });

  test("cached tokens are counted", async () => {
    const own = { ...settings, baseUrl: server.baseUrl("anthropic"), local: true };
    const model = createWireModel(createAnthropicWire(own), own, testParts([]));
    server.say({ text: "yes", usage: { input: 1000, output: 5, cached: 900 } });
    expect((await answerOf(model)).usage).toEqual({ inputTokens: 1000, outputTokens: 5, cachedTokens: 900 });
  });
});

describe("a server of another make", () => {
  const GONE = { error: { message: "File Not Found", type: "not_found_error", code: 404 } };
  const told = (pages: Readonly<Record<string, object>>) => ({
    ...testParts([]),
    fetch: async (url: string) =>
      Response.json(pages[new URL(url).pathname] ?? GONE, {
        status: new URL(url).pathname in pages ? 200 : 404,
      }),
  });
  const list = (...data: object[]) => ({ "/v1/models": { object: "list", data } });
  const entry = (id: string, more: object = {}) => ({ id, object: "model", owned_by: "llamacpp", ...more });
  const CHECKS: readonly [string, Readonly<Record<string, object>>, boolean][] = [
    ["without a page for each model is asked for its list", list(entry("other"), entry("m-1")), true],
    ["whose list lacks the model has it not", list(entry("other"), entry("third")), false],
    ["with one model answers to every name", list(entry("/models/some.gguf")), true],
    [
      "that loads models by name has what it lists",
      list(entry("other", { status: { value: "loaded" } })),
      false,
    ],
  ];
  test.each(CHECKS)("%s", async (_name, pages, ok) => {
    for (const wire of [createOpenAiResponsesWire, createAnthropicWire, createOpenAiChatWire]) {
      const model = createWireModel(wire(settings), settings, told(pages));
      expect((await model.check(request.signal)).ok).toBe(ok);
    }
  });

  test("with one model is offered by the name of its file, without the folders", async () => {
    const offered = async (...data: object[]) =>
      listOffered(
        { url: "http://h/v1/models", headers: {}, local: true },
        request.signal,
        told(list(...data)).fetch,
      );
    const status = { value: "loaded" };
    expect(
      await Promise.all([
        offered(entry("/models/some.gguf")),
        offered(entry("org/some", { status })),
        offered({ id: "org/some", owned_by: "other" }),
      ]),
    ).toEqual([
      { ok: true, models: ["some.gguf"] },
      { ok: true, models: ["org/some"] },
      { ok: true, models: ["org/some"] },
    ]);
  });

  test("that names the model it lacks is asked for it once, and for its list once", async () => {
    const asked: string[] = [];
    const missing = { error: { message: "The model 'm-1' does not exist", code: "model_not_found" } };
    const fetch = async (url: string) => {
      asked.push(url);
      return Response.json(missing, { status: 404 });
    };
    const model = createWireModel(createOpenAiResponsesWire(settings), settings, { ...testParts([]), fetch });
    expect(await model.check(request.signal)).toMatchObject({ failure: { code: "unknown-model" } });
    expect(asked).toEqual(["http://h/v1/models/m-1", "http://h/v1/models"]);
  });

  test.each([
    [99, "stop"],
    [100, "length"],
  ])("whose answer of %d tokens, of 100 allowed, is called complete: %s", async (tokens, finish) => {
    const frames = [
      { type: "response.output_text.delta", delta: "tick" },
      {
        type: "response.completed",
        response: { status: "completed", usage: { input_tokens: 5, output_tokens: tokens } },
      },
    ];
    const body = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
    const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
    const model = createWireModel(createOpenAiResponsesWire(settings), settings, { ...testParts([]), fetch });
    expect((await answerOf(model)).finish).toBe(finish as "stop" | "length");
  });
});
