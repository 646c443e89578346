import type { ModelMessage, ModelRequest } from "../../application/ports/model.ts";
import { type CallExtras, createCallExtras } from "./call-extras.ts";
import { readChat } from "./openai-chat-reader.ts";
import type { ModelSettings } from "./settings.ts";
import { joinUrl, listAt, speaksOfJson, textAt, type Wire } from "./wire.ts";

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
    reader: (answer) => readChat(answer, thoughts),
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
