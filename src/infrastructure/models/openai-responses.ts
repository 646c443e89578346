import type { ModelMessage, ModelRequest } from "../../application/ports/model.ts";
import type { AnswerSink } from "./answer.ts";
import type { ModelSettings } from "./settings.ts";
import { at, countAt, type Json, joinUrl, speaksOfJson, textAt, type Wire } from "./wire.ts";

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
    reader,
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

function reader(answer: AnswerSink): (frame: Json) => void {
  return (frame) => {
    const item = textAt(frame, "item_id");
    switch (textAt(frame, "type")) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return answer.text(textAt(frame, "delta"));
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return answer.reasoning(textAt(frame, "delta"));
      case "response.output_item.added":
        if (textAt(frame, "item", "type") === "function_call")
          answer.callPart(textAt(frame, "item", "id"), {
            id: textAt(frame, "item", "call_id"),
            name: textAt(frame, "item", "name"),
          });
        return;
      case "response.function_call_arguments.delta":
        return answer.callPart(item, { arguments: textAt(frame, "delta") });
      case "response.output_item.done":
        return answer.callEnd(textAt(frame, "item", "id"), textAt(frame, "item", "arguments"));
      case "response.completed":
        takeUsage(answer, frame);
        answer.finish("stop");
        return answer.over();
      case "response.incomplete":
        takeUsage(answer, frame);
        answer.finish(
          textAt(frame, "response", "incomplete_details", "reason") === "content_filter"
            ? "filtered"
            : "length",
        );
        return answer.over();
      case "response.failed":
        return problemOf(answer, at(frame, "response", "error"));
      case "error":
        return problemOf(answer, at(frame, "error") ?? frame);
    }
  };
}

function problemOf(answer: AnswerSink, error: Json): void {
  answer.problem({
    code: textAt(error, "code") || textAt(error, "type"),
    message: textAt(error, "message"),
  });
}

function takeUsage(answer: AnswerSink, frame: Json): void {
  answer.usage({
    inputTokens: countAt(frame, "response", "usage", "input_tokens"),
    outputTokens: countAt(frame, "response", "usage", "output_tokens"),
    cachedTokens: countAt(frame, "response", "usage", "input_tokens_details", "cached_tokens"),
  });
}
