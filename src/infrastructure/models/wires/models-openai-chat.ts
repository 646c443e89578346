import type { ModelMessage, ModelRequest } from "../../../application/ports/models.ts";
import { familyOf } from "../../../domain/models/family.ts";
import { listAt, textAt } from "../json-fields.ts";
import { readChat } from "./openai-chat.ts";
import { type ModelSettings, requestOptions } from "../model-settings.ts";
import { thoughtsOf } from "../thoughts.ts";
import { joinUrl, mentionsJson, toUserContent, type Wire } from "../wire.ts";

/** Chat completions, as DeepSeek and every OpenAI-compatible server speak them. `base_url` ends where `/chat` begins. */
export function createOpenAiChatWire(settings: ModelSettings): Wire {
  const headers = settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` };
  return {
    framing: "sse",
    request: (request, without) => ({
      url: joinUrl(settings.baseUrl, "chat/completions"),
      headers: { ...headers, accept: "text/event-stream" },
      body: requestBody(settings, request, without),
    }),
    reader: readChat,
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

function requestBody(settings: ModelSettings, request: ModelRequest, without: ReadonlySet<string>): object {
  const { tools = [] } = request;
  const { maxTokens, temperature } = requestOptions(settings, request);
  const limit = without.has("max_tokens") ? "max_completion_tokens" : "max_tokens";
  return {
    model: settings.model,
    stream: true,
    ...(!without.has("stream_options") && { stream_options: { include_usage: true } }),
    ...(maxTokens !== null && { [limit]: maxTokens }),
    ...(temperature !== null && !without.has("temperature") && { temperature }),
    ...effortOf(settings, request, without),
    ...(request.json === true &&
      mentionsJson(request) &&
      !without.has("response_format") && { response_format: { type: "json_object" } }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function",
        function: { name, description, parameters },
      })),
    }),
    messages: [
      ...(request.system ? [{ role: "system", content: request.system }] : []),
      ...request.messages.map((message) => messageOf(message, settings, without)),
    ],
  };
}

/** DeepSeek turns thinking on and off, the others name how much. */
function effortOf(settings: ModelSettings, request: ModelRequest, without: ReadonlySet<string>): object {
  const { effort } = requestOptions(settings, request);
  if (effort === null) return {};
  if (familyOf(settings.model) === "deepseek")
    return without.has("thinking") ? {} : { thinking: { type: effort === "off" ? "disabled" : "enabled" } };
  return without.has("reasoning_effort") ? {} : { reasoning_effort: effort === "off" ? "none" : effort };
}

function messageOf(message: ModelMessage, settings: ModelSettings, without: ReadonlySet<string>): object {
  switch (message.role) {
    case "user": {
      const { text, images } = toUserContent(message, without);
      if (images.length === 0) return { role: "user", content: text };
      const parts = images.map(({ mediaType, data }) => ({
        type: "image_url",
        image_url: { url: `data:${mediaType};base64,${data}` },
      }));
      return { role: "user", content: [...parts, { type: "text", text }] };
    }
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text };
    case "assistant": {
      const calls = message.toolCalls ?? [];
      if (calls.length === 0) return { role: "assistant", content: message.text };
      return {
        role: "assistant",
        content: message.text === "" ? null : message.text,
        ...Object.assign({}, ...thoughtsOf(message, settings)),
        tool_calls: calls.map(({ id, name, arguments: args }) => ({
          id,
          type: "function",
          function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
        })),
      };
    }
  }
}
