/** Unusual answers of servers, of which every provider has its own. */
import { describe, expect, test } from "bun:test";
import type { ModelEvent } from "../../../src/application/ports/models.ts";
import type { ModelSettings } from "../../../src/infrastructure/models/model-settings.ts";
import { eventsOf } from "../../contracts/model-kit.ts";
import { openRecorded, requestOf } from "./recorded-answer.ts";

async function endOf(
  wire: ModelSettings["type"],
  frames: readonly object[],
  { whole = false } = {},
): Promise<ModelEvent | undefined> {
  const recorded = {
    wire,
    status: 200,
    type: whole ? "application/json" : "text/event-stream",
    headers: {},
    tools: [],
    text_body: "",
  };
  const text = whole
    ? JSON.stringify(frames[0])
    : frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
  const chunks = [new TextEncoder().encode(text)];
  return (await eventsOf(openRecorded(recorded, chunks), requestOf(recorded))).at(-1);
}

const answered = (answer: object) => ({ type: "finished", answer });
const failed = (failure: object) => ({ type: "failed", failure });
const usage = { prompt_tokens: 3, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 5 } };

describe("a refusal is reported as one, with its words", () => {
  test("chat completions", async () => {
    const frames = [
      { choices: [{ delta: { refusal: "I cannot " } }] },
      { choices: [{ delta: { refusal: "do that." } }] },
      { choices: [{ delta: {}, finish_reason: "stop" }] },
    ];
    expect(await endOf("openai-compatible", frames)).toMatchObject(
      answered({ text: "I cannot do that.", finish: "filtered" }),
    );
  });

  test("responses", async () => {
    const frames = [
      { type: "response.refusal.delta", item_id: "m", delta: "No." },
      { type: "response.completed", response: {} },
    ];
    expect(await endOf("openai", frames)).toMatchObject(answered({ text: "No.", finish: "filtered" }));
  });

  test.each(["SAFETY", "IMAGE_SAFETY", "LANGUAGE", "UNEXPECTED_TOOL_CALL", "MODEL_ARMOR"])(
    "Google's %s",
    async (reason) => {
      expect(await endOf("google", [{ candidates: [{ finishReason: reason }] }])).toMatchObject(
        answered({ text: "", finish: "filtered" }),
      );
    },
  );
});

test("half an answer that ended for an unknown reason is not a whole one", async () => {
  const half = (finishReason: string) => [
    { candidates: [{ content: { parts: [{ text: "half an" }] } }] },
    { candidates: [{ finishReason }] },
  ];
  for (const reason of ["MODEL_ARMOR", "OTHER", "FINISH_REASON_UNSPECIFIED"])
    expect(await endOf("google", half(reason))).toMatchObject(
      answered({ text: "half an", finish: "filtered" }),
    );
  const handedOn = [{ choices: [{ delta: { content: "half" }, finish_reason: "PROHIBITED_CONTENT" }] }];
  expect(await endOf("openai-compatible", handedOn)).toMatchObject(answered({ finish: "filtered" }));
});

describe("items of a response belong together by their place, not by ids that some servers rotate", () => {
  test("text is reported once, a call stays one", async () => {
    const at = (output_index: number) => ({ output_index, item_id: crypto.randomUUID() });
    const item = (place: number, whole: object) => ({
      ...at(place),
      item: { id: crypto.randomUUID(), ...whole },
    });
    const call = { type: "function_call", call_id: "c1", name: "look" };
    const frames = [
      { type: "response.output_item.added", ...item(0, { type: "message", content: [] }) },
      { type: "response.output_text.delta", ...at(0), delta: "Hel" },
      { type: "response.output_text.delta", ...at(0), delta: "lo" },
      {
        type: "response.output_item.done",
        ...item(0, { type: "message", content: [{ type: "output_text", text: "Hello" }] }),
      },
      { type: "response.output_item.added", ...item(1, { ...call, arguments: "" }) },
      { type: "response.function_call_arguments.delta", ...at(1), delta: '{"at":' },
      { type: "response.function_call_arguments.delta", ...at(1), delta: "1}" },
      { type: "response.output_item.done", ...item(1, { ...call, arguments: '{"at":1}' }) },
      { type: "response.completed", response: {} },
    ];
    expect(await endOf("openai", frames)).toMatchObject(
      answered({ text: "Hello", toolCalls: [{ id: "c1", name: "look", arguments: { at: 1 } }] }),
    );
  });

  test("a server that numbers only some events is followed by the id it gave there", async () => {
    const call = { type: "function_call", id: "f", call_id: "c1", name: "look" };
    const frames = [
      { type: "response.output_item.added", output_index: 0, item: call },
      { type: "response.function_call_arguments.delta", item_id: "f", delta: '{"at":1}' },
      { type: "response.output_item.done", output_index: 0, item: { ...call, arguments: '{"at":1}' } },
      { type: "response.completed", response: {} },
    ];
    expect(await endOf("openai", frames)).toMatchObject(
      answered({ toolCalls: [{ id: "c1", name: "look", arguments: { at: 1 } }] }),
    );
  });
});

test("a prompt that counts as nothing does not hide what the answer cost", async () => {
  const chat = [
    {
      choices: [{ delta: { content: "hi" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 0, completion_tokens: 5 },
    },
  ];
  const google = [
    {
      candidates: [{ content: { parts: [{ text: "hi" }] }, finishReason: "STOP" }],
      usageMetadata: { candidatesTokenCount: 5 },
    },
  ];
  for (const [wire, frames] of [
    ["openai-compatible", chat],
    ["google", google],
  ] as const)
    expect(await endOf(wire, frames)).toMatchObject(answered({ usage: { inputTokens: 0, outputTokens: 5 } }));
});

test("more tokens than any model can mean count as none reported", async () => {
  const chat = (prompt_tokens: number, completion_tokens: number) => [
    {
      choices: [{ delta: { content: "hi" }, finish_reason: "stop" }],
      usage: { prompt_tokens, completion_tokens, prompt_tokens_details: { cached_tokens: 1e300 } },
    },
  ];
  const told = (inputTokens: number, outputTokens: number) =>
    answered({ usage: { inputTokens, outputTokens, cachedTokens: 0 } });
  expect(await endOf("openai-compatible", chat(1e300, 5))).toMatchObject(told(0, 5));
  expect(await endOf("openai-compatible", chat(3, Number.MAX_SAFE_INTEGER))).toMatchObject(told(3, 0));
  expect(await endOf("openai-compatible", chat(2_000_000, 5))).toMatchObject(told(2_000_000, 5));
});

test("a call that Google cannot read is not an answer, and worth another try", async () => {
  const frames = [
    { candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed: print(" }] },
  ];
  const end = await endOf("google", frames);
  expect(end).toMatchObject(failed({ code: "malformed", retryable: true }));
  expect(JSON.stringify(end)).toContain("print(");
});

describe("thoughts that took all tokens are named, even if they were not shown", () => {
  test.each([
    ["openai-compatible", [{ choices: [{ delta: { content: "" }, finish_reason: "length" }], usage }]],
    [
      "openai",
      [
        {
          type: "response.incomplete",
          response: {
            incomplete_details: { reason: "max_output_tokens" },
            usage: { output_tokens: 9, output_tokens_details: { reasoning_tokens: 9 } },
          },
        },
      ],
    ],
    [
      "google",
      [
        {
          candidates: [{ finishReason: "MAX_TOKENS" }],
          usageMetadata: { promptTokenCount: 1, thoughtsTokenCount: 2 },
        },
      ],
    ],
    [
      "anthropic",
      [
        { type: "content_block_start", index: 0, content_block: { type: "redacted_thinking", data: "x" } },
        { type: "message_delta", delta: { stop_reason: "max_tokens" } },
        { type: "message_stop" },
      ],
    ],
  ] as const)("%s", async (wire, frames) => {
    const end = await endOf(wire, frames);
    expect(end).toMatchObject(failed({ code: "empty", retryable: false }));
    expect(JSON.stringify(end)).toContain("thinking");
  });
});

test("a server's own trouble at the end of an answer is not the end of an answer", async () => {
  const frames = [
    { choices: [{ delta: { content: "half" } }] },
    { choices: [{ delta: {}, finish_reason: "insufficient_system_resource" }] },
  ];
  expect(await endOf("openai-compatible", frames)).toMatchObject(failed({ code: "server-error" }));
  const inChoice = [{ choices: [{ delta: {}, finish_reason: "error", error: { code: 502, message: "x" } }] }];
  expect(await endOf("openai-compatible", inChoice)).toMatchObject(
    failed({ code: "server-error", status: 502 }),
  );
});

describe("one whole answer of a server that does not stream is read", () => {
  test("Anthropic's", async () => {
    const message = {
      type: "message",
      content: [
        { type: "text", text: "hi" },
        { type: "tool_use", id: "t1", name: "look", input: { at: 1 } },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 4, output_tokens: 2 },
    };
    expect(await endOf("anthropic", [message], { whole: true })).toMatchObject(
      answered({
        text: "hi",
        toolCalls: [{ id: "t1", name: "look", arguments: { at: 1 } }],
        finish: "tool-calls",
        usage: { inputTokens: 4, outputTokens: 2 },
      }),
    );
  });

  test("OpenAI's", async () => {
    const response = {
      object: "response",
      status: "completed",
      output: [
        { type: "message", id: "m", content: [{ type: "output_text", text: "hi" }] },
        { type: "function_call", id: "f", call_id: "c1", name: "look", arguments: '{"at":1}' },
      ],
    };
    expect(await endOf("openai", [response], { whole: true })).toMatchObject(
      answered({
        text: "hi",
        toolCalls: [{ id: "c1", name: "look", arguments: { at: 1 } }],
        finish: "tool-calls",
      }),
    );
  });
});

test.each(["anthropic", "openai", "openai-compatible", "google"] as const)(
  "a document of another protocol is not an answer of %s, and not one that was cut off",
  async (wire) => {
    const end = await endOf(wire, [{ status: "ok" }], { whole: true });
    expect(end).toMatchObject(failed({ code: "malformed" }));
  },
);

test("a list of parts is text and thoughts", async () => {
  const content = [
    { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
    { type: "text", text: "four" },
  ];
  const frames = [{ choices: [{ message: { content }, finish_reason: "" }] }];
  expect(await endOf("openai-compatible", frames, { whole: true })).toMatchObject(
    answered({ text: "four", finish: "stop" }),
  );
});

test("the pieces of a tool that Anthropic runs itself are not calls of ours", async () => {
  const input = { type: "input_json_delta", partial_json: '{"query":"x"}' };
  const frames = [
    { type: "message_start", message: { usage: { input_tokens: 10, cache_read_input_tokens: 5 } } },
    { type: "content_block_start", index: 0, content_block: { type: "server_tool_use", name: "web_search" } },
    { type: "content_block_delta", index: 0, delta: input },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "found" } },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { input_tokens: 90, output_tokens: 7 },
    },
    { type: "message_stop" },
  ];
  expect(await endOf("anthropic", frames)).toMatchObject(
    answered({
      text: "found",
      toolCalls: [],
      usage: { inputTokens: 95, outputTokens: 7, cachedTokens: 5 },
    }),
  );
});

test("Google's call in pieces is one call, with its id, and a piece without a beginning is not a call", async () => {
  const part = (functionCall: object, more = {}) => ({
    candidates: [{ content: { parts: [{ functionCall, ...more }] } }],
  });
  const pieces = (...partialArgs: object[]) => part({ partialArgs, willContinue: true });
  const end = { candidates: [{ content: { parts: [] }, finishReason: "STOP" }] };
  const write = { id: "c1", name: "write", willContinue: true };
  const frames = [
    pieces({ jsonPath: "$.lost", stringValue: "x" }),
    part(write, { thoughtSignature: "SIG" }),
    pieces({ jsonPath: "$.items[0].name", stringValue: "a", willContinue: true }),
    pieces(
      { jsonPath: "$.items[0].name", stringValue: "b" },
      { jsonPath: "$.items[1].done", boolValue: true },
    ),
    pieces({ jsonPath: "$.count", numberValue: 2 }, { jsonPath: "$['a key']", stringValue: "v" }),
  ];
  const whole = {
    id: "c1",
    name: "write",
    arguments: { items: [{ name: "ab" }, { done: true }], count: 2, "a key": "v" },
  };
  for (const last of [[part({})], []])
    expect(await endOf("google", [...frames, ...last, end])).toMatchObject(
      answered({ toolCalls: [whole], finish: "tool-calls" }),
    );
  expect(await endOf("google", [part({ id: "c2", name: "look", args: { a: 1 } }), end])).toMatchObject(
    answered({ toolCalls: [{ id: "c2", name: "look", arguments: { a: 1 } }] }),
  );
});

const nameless: readonly (readonly [ModelSettings["type"], readonly object[]])[] = [
  [
    "openai-compatible",
    [
      {
        choices: [
          {
            delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] },
            finish_reason: "tool_calls",
          },
        ],
      },
    ],
  ],
  ["ollama", [{ message: { content: null, tool_calls: [{ function: null }, 7] }, done: true }]],
  [
    "google",
    [{ candidates: [{ content: { parts: [{ functionCall: { args: 3 } }] }, finishReason: "STOP" }] }],
  ],
  [
    "openai",
    [
      { type: "response.output_item.added", output_index: 0, item: { type: "function_call", call_id: "c" } },
      { type: "response.output_item.done", output_index: 0, item: { type: "function_call", call_id: "c" } },
      { type: "response.completed", response: {} },
    ],
  ],
  [
    "anthropic",
    [
      { type: "content_block_start", index: 5, content_block: { type: "tool_use" } },
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ],
  ],
];

test.each(nameless)("%s: a call without a name is not a call", async (wire, frames) => {
  const end = await endOf(wire, frames, { whole: wire === "ollama" });
  expect(end).toMatchObject(failed({ code: "empty" }));
});
