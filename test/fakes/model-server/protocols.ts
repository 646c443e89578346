import type { ScriptedCall, ScriptedReply } from "./reply.ts";

/** The protocols that the stub speaks, each as its provider does. */
export type Protocol = "ollama" | "openai-chat" | "openai-responses" | "anthropic" | "gemini";

export interface Encoded {
  readonly type: string;
  /** Each a whole frame, its end included. */
  readonly frames: readonly string[];
}

export function protocolOf(path: string): Protocol | undefined {
  if (path.endsWith("/chat/completions")) return "openai-chat";
  if (path.endsWith("/responses")) return "openai-responses";
  if (path.endsWith("/v1/messages")) return "anthropic";
  if (path.endsWith(":streamGenerateContent")) return "gemini";
  return path === "/api/chat" ? "ollama" : undefined;
}

export function encode(protocol: Protocol, reply: ScriptedReply, model: string): Encoded {
  const texts = reply.chunks ?? (reply.text === undefined ? [] : [reply.text]);
  const usage = { input: 12, output: 7, cached: 0, ...reply.usage };
  const type = protocol === "ollama" ? "application/x-ndjson" : "text/event-stream";
  return {
    type,
    frames: ENCODERS[protocol]({ ...reply, texts, usage, calls: reply.toolCalls ?? [], model }),
  };
}

interface Plan {
  readonly texts: readonly string[];
  readonly reasoning?: string;
  readonly calls: readonly ScriptedCall[];
  readonly finish?: ScriptedReply["finish"];
  readonly usage: { readonly input: number; readonly output: number; readonly cached: number };
  readonly model: string;
}

const sse = (data: unknown, event?: string) =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const written = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
/** Arguments come in pieces that are no JSON by themselves. */
const pieces = (text: string) => [text.slice(0, 3), text.slice(3)].filter((piece) => piece !== "");

const ENCODERS: Readonly<Record<Protocol, (plan: Plan) => string[]>> = {
  ollama: ({ texts, reasoning, calls, finish, usage, model }) => {
    const line = (rest: object) =>
      `${JSON.stringify({ model, created_at: "2026-11-15T00:00:00Z", ...rest })}\n`;
    const message = (rest: object) =>
      line({ message: { role: "assistant", content: "", ...rest }, done: false });
    return [
      ...(reasoning === undefined ? [] : [message({ thinking: reasoning })]),
      ...texts.map((content) => message({ content })),
      ...calls.map(({ name, arguments: args }) =>
        message({ tool_calls: [{ function: { name, arguments: args } }] }),
      ),
      line({
        message: { role: "assistant", content: "" },
        done: true,
        done_reason: finish === "length" ? "length" : "stop",
        prompt_eval_count: usage.input,
        eval_count: usage.output,
      }),
    ];
  },

  "openai-chat": ({ texts, reasoning, calls, finish, usage, model }) => {
    const chunk = (delta: object, finish_reason: string | null = null) =>
      sse({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model,
        choices: [{ index: 0, delta, finish_reason }],
      });
    const call = ({ id, name, arguments: args }: ScriptedCall, index: number) => [
      chunk({
        tool_calls: [
          { index, id: id ?? `call_${index}`, type: "function", function: { name, arguments: "" } },
        ],
      }),
      ...pieces(written(args)).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ];
    const reason = { length: "length", filtered: "content_filter", stop: "stop" }[finish ?? "stop"];
    return [
      ...(reasoning === undefined ? [] : [chunk({ reasoning_content: reasoning })]),
      ...texts.map((content) => chunk({ content })),
      ...calls.flatMap(call),
      chunk({}, calls.length > 0 && finish === undefined ? "tool_calls" : reason),
      sse({
        choices: [],
        usage: {
          prompt_tokens: usage.input,
          completion_tokens: usage.output,
          prompt_tokens_details: { cached_tokens: usage.cached },
        },
      }),
      sse("[DONE]"),
    ];
  },

  "openai-responses": ({ texts, reasoning, calls, finish, usage, model }) => {
    const event = (type: string, rest: object = {}) => sse({ type, ...rest }, type);
    const call = ({ id, name, arguments: args, custom = false }: ScriptedCall, index: number) => {
      const [type, field, key] = custom
        ? (["custom_tool_call", "custom_tool_call_input", "input"] as const)
        : (["function_call", "function_call_arguments", "arguments"] as const);
      const item = { id: `item_${index}`, type, status: "completed", call_id: id ?? `call_${index}`, name };
      return [
        event("response.output_item.added", { output_index: index + 1, item: { ...item, [key]: "" } }),
        ...pieces(written(args)).map((delta) =>
          event(`response.${field}.delta`, { item_id: item.id, delta }),
        ),
        event("response.output_item.done", {
          output_index: index + 1,
          item: { ...item, [key]: written(args) },
        }),
      ];
    };
    const message = (content: readonly object[]) => ({
      output_index: 0,
      item: { type: "message", id: "msg_0", role: "assistant", status: "completed", content },
    });
    const text = { type: "output_text", text: texts.join(""), annotations: [] };
    const response = {
      id: "resp_0",
      object: "response",
      model,
      usage: {
        input_tokens: usage.input,
        output_tokens: usage.output,
        total_tokens: usage.input + usage.output,
        input_tokens_details: { cached_tokens: usage.cached },
        output_tokens_details: { reasoning_tokens: 0 },
      },
      ...(finish !== undefined && {
        incomplete_details: { reason: finish === "filtered" ? "content_filter" : "max_output_tokens" },
      }),
    };
    const stopped = finish === undefined || finish === "stop";
    return [
      event("response.created", { response: { id: "resp_0", object: "response", model } }),
      ...(reasoning === undefined
        ? []
        : [event("response.reasoning_summary_text.delta", { delta: reasoning })]),
      ...(texts.length === 0 ? [] : [event("response.output_item.added", message([]))]),
      ...texts.map((delta) => event("response.output_text.delta", { item_id: "msg_0", delta })),
      ...(texts.length === 0 ? [] : [event("response.output_item.done", message([text]))]),
      ...calls.flatMap(call),
      event(stopped ? "response.completed" : "response.incomplete", { response }),
    ];
  },

  anthropic: ({ texts, reasoning, calls, finish, usage, model }) => {
    const event = (type: string, rest: object = {}) => sse({ type, ...rest }, type);
    const block = (index: number, content_block: object, deltas: readonly object[]) => [
      event("content_block_start", { index, content_block }),
      ...deltas.map((delta) => event("content_block_delta", { index, delta })),
      event("content_block_stop", { index }),
    ];
    const reason = { length: "max_tokens", filtered: "refusal", stop: "end_turn" }[finish ?? "stop"];
    const thinking =
      reasoning === undefined
        ? []
        : block(0, { type: "thinking", thinking: "" }, [{ type: "thinking_delta", thinking: reasoning }]);
    const text =
      texts.length === 0
        ? []
        : block(
            1,
            { type: "text", text: "" },
            texts.map((piece) => ({ type: "text_delta", text: piece })),
          );
    return [
      event("message_start", {
        message: {
          id: "msg_0",
          type: "message",
          role: "assistant",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          model,
          usage: {
            input_tokens: usage.input - usage.cached,
            cache_read_input_tokens: usage.cached,
            cache_creation_input_tokens: 0,
            output_tokens: 1,
          },
        },
      }),
      event("ping"),
      ...thinking,
      ...text,
      ...calls.flatMap(({ id, name, arguments: args }, index) =>
        block(
          index + 2,
          { type: "tool_use", id: id ?? `toolu_${index}`, name, input: {} },
          pieces(written(args)).map((partial_json) => ({ type: "input_json_delta", partial_json })),
        ),
      ),
      event("message_delta", {
        delta: {
          stop_sequence: null,
          stop_reason: calls.length > 0 && finish === undefined ? "tool_use" : reason,
        },
        usage: { output_tokens: usage.output },
      }),
      event("message_stop"),
    ];
  },

  gemini: ({ texts, reasoning, calls, finish, usage }) => {
    const chunk = (parts: readonly object[], rest: object = {}) =>
      sse({ candidates: [{ content: { role: "model", parts }, index: 0, ...rest }] });
    const reason = { length: "MAX_TOKENS", filtered: "SAFETY", stop: "STOP" }[finish ?? "stop"];
    return [
      ...(reasoning === undefined ? [] : [chunk([{ text: reasoning, thought: true }])]),
      ...texts.map((text) => chunk([{ text }])),
      ...calls.map(({ name, arguments: args }) =>
        chunk([{ functionCall: { name, args }, thoughtSignature: `signature of ${name}` }]),
      ),
      sse({
        candidates: [{ finishReason: reason, index: 0 }],
        usageMetadata: {
          promptTokenCount: usage.input,
          candidatesTokenCount: usage.output,
          cachedContentTokenCount: usage.cached,
        },
      }),
    ];
  },
};
