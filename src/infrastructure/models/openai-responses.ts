import type { ModelMessage, ModelRequest } from "../../application/ports/model.ts";
import { readResponses } from "./openai-responses-reader.ts";
import type { ModelSettings } from "./settings.ts";
import { joinUrl, speaksOfJson, type Wire } from "./wire.ts";

/** OpenAI's responses API, with nothing stored there. Its newer models speak only this. */
export function createOpenAiResponsesWire(settings: ModelSettings): Wire {
  const headers = settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` };
  return {
    framing: "sse",
    request: (request, without) => ({
      url: joinUrl(settings.baseUrl, "responses"),
      headers,
      body: bodyOf(settings, request, without),
    }),
    reader: readResponses,
    probe: {
      url: joinUrl(settings.baseUrl, `models/${encodeURIComponent(settings.model)}`),
      headers,
      judge: () => "there",
    },
  };
}

function bodyOf(settings: ModelSettings, request: ModelRequest, without: ReadonlySet<string>): object {
  const { tools = [] } = request;
  const maxTokens = request.maxTokens ?? settings.maxTokens;
  const temperature = request.temperature ?? settings.temperature;
  return {
    model: settings.model,
    stream: true,
    store: false,
    ...(request.system && { instructions: request.system }),
    ...(maxTokens !== null && { max_output_tokens: maxTokens }),
    ...(temperature !== null && !without.has("temperature") && { temperature }),
    ...(request.json === true && speaksOfJson(request) && { text: { format: { type: "json_object" } } }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function",
        name,
        description,
        parameters,
        strict: false,
      })),
    }),
    input: request.messages.flatMap(itemsOf),
  };
}

function itemsOf(message: ModelMessage): object[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: message.text }];
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: message.text }];
    case "assistant":
      return [
        ...(message.text === "" ? [] : [{ role: "assistant", content: message.text }]),
        ...(message.toolCalls ?? []).map(({ id, name, arguments: args }) => ({
          type: "function_call",
          call_id: id,
          name,
          arguments: typeof args === "string" ? args : JSON.stringify(args),
        })),
      ];
  }
}
