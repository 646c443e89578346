import type { ModelAnswer, ModelMessage, ModelRequest } from "../../application/ports/model.ts";
import type { AnswerSink } from "./answer.ts";
import { type CallExtras, createCallExtras } from "./call-extras.ts";
import type { ModelSettings } from "./settings.ts";
import { at, countAt, type Json, joinUrl, listAt, speaksOfJson, textAt, type Wire } from "./wire.ts";

/** Chat completions, as DeepSeek and every OpenAI-compatible server speak them. `base_url` ends where `/chat` begins. */
export function createOpenAiChatWire(settings: ModelSettings): Wire {
  const headers = settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` };
  // DeepSeek's thinking models want their thoughts of a tool loop back.
  const thoughts = createCallExtras();
  return {
    framing: "sse",
    request: (request, without) => ({
      url: joinUrl(settings.baseUrl, "chat/completions"),
      headers: { ...headers, accept: "text/event-stream" },
      body: bodyOf(settings, request, without, thoughts),
    }),
    reader: (answer) => reader(answer, thoughts),
    probe: {
      url: joinUrl(settings.baseUrl, "models"),
      headers,
      judge: (body) => {
        const ids = listAt(body, "data").map((one) => textAt(one, "id"));
        if (ids.length === 0) return "unknown";
        return ids.includes(settings.model) ? "there" : "missing";
      },
    },
  };
}

function bodyOf(
  settings: ModelSettings,
  request: ModelRequest,
  without: ReadonlySet<string>,
  thoughts: CallExtras,
): object {
  const { tools = [] } = request;
  const maxTokens = request.maxTokens ?? settings.maxTokens;
  const temperature = request.temperature ?? settings.temperature;
  const limit = without.has("max_tokens") ? "max_completion_tokens" : "max_tokens";
  return {
    model: settings.model,
    stream: true,
    ...(!without.has("stream_options") && { stream_options: { include_usage: true } }),
    ...(maxTokens !== null && { [limit]: maxTokens }),
    ...(temperature !== null && !without.has("temperature") && { temperature }),
    ...(request.json === true &&
      speaksOfJson(request) &&
      !without.has("response_format") && { response_format: { type: "json_object" } }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function",
        function: { name, description, parameters },
      })),
    }),
    messages: [
      ...(request.system ? [{ role: "system", content: request.system }] : []),
      ...request.messages.map((message) => messageOf(message, thoughts)),
    ],
  };
}

function messageOf(message: ModelMessage, thoughts: CallExtras): object {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.text };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text };
    case "assistant": {
      const calls = message.toolCalls ?? [];
      if (calls.length === 0) return { role: "assistant", content: message.text };
      const thought = thoughts.get(calls[0]?.id ?? "");
      return {
        role: "assistant",
        content: message.text === "" ? null : message.text,
        ...(thought !== undefined && { reasoning_content: thought }),
        tool_calls: calls.map(({ id, name, arguments: args }) => ({
          id,
          type: "function",
          function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
        })),
      };
    }
  }
}

const FINISH: Readonly<Record<string, ModelAnswer["finish"]>> = {
  length: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  content_filter: "filtered",
};

function reader(answer: AnswerSink, thoughts: CallExtras): (frame: Json) => void {
  let thought = "";
  let kept = false;
  let current = 0;
  return (frame) => {
    if (at(frame, "error") !== undefined && at(frame, "error") !== null) {
      const status = at(frame, "error", "code");
      answer.problem({
        message: textAt(frame, "error", "message") || textAt(frame, "error"),
        code: `${textAt(frame, "error", "code")} ${textAt(frame, "error", "type")}`,
        ...(typeof status === "number" && status >= 400 && { status }),
      });
      return;
    }
    // A server that does not stream puts a message where the others put a delta.
    const choice = at(frame, "choices", 0);
    const delta = at(choice, "delta") ?? at(choice, "message");
    const reasoning = textAt(delta, "reasoning_content") || textAt(delta, "reasoning");
    if (textAt(delta, "reasoning_content") !== "") thought += reasoning;
    answer.reasoning(reasoning);
    answer.text(textAt(delta, "content"));
    for (const [place, call] of listAt(delta, "tool_calls").entries()) {
      const named = at(call, "index");
      const id = textAt(call, "id");
      // Servers that number nothing send whole calls, or go on with the last one.
      current = typeof named === "number" ? named : id === "" ? current : current + 1 + place;
      const given = at(call, "function", "arguments");
      answer.callPart(current, {
        id,
        name: textAt(call, "function", "name"),
        arguments: typeof given === "object" && given !== null ? JSON.stringify(given) : String(given ?? ""),
      });
      if (id !== "" && !kept && thought !== "") {
        kept = true;
        thoughts.keep(id, thought);
      }
    }
    const reason = textAt(choice, "finish_reason");
    if (reason !== "") answer.finish(FINISH[reason] ?? "stop");
    if (at(choice, "message") !== undefined) answer.over();
    takeUsage(answer, at(frame, "usage"));
  };
}

function takeUsage(answer: AnswerSink, usage: Json): void {
  const inputTokens = countAt(usage, "prompt_tokens");
  if (inputTokens === 0) return;
  answer.usage({
    inputTokens,
    outputTokens: countAt(usage, "completion_tokens"),
    cachedTokens:
      countAt(usage, "prompt_tokens_details", "cached_tokens") || countAt(usage, "prompt_cache_hit_tokens"),
  });
}
