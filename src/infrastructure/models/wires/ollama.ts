import type { Effort, ModelMessage, ModelRequest } from "../../../application/ports/models.ts";
import { joinUrl } from "../../../domain/models/locality.ts";
import type { AnswerSink } from "../answer.ts";
import { countAt, fieldAt, type Json, listAt, textAt } from "../json-fields.ts";
import { type ModelSettings, type OllamaSettings, requestOptions } from "../model-settings.ts";
import { argumentsObject, bearer, chatParts, type Wire } from "../wire.ts";

/** Ollama's own API: the OpenAI-compatible one of the same server knows neither `keep_alive` nor `num_ctx`. */
export function createOllamaWire(settings: ModelSettings, ollama: OllamaSettings): Wire {
  const headers = bearer(settings);
  return {
    framing: "lines",
    request: (request, without) => ({
      url: joinUrl(settings.baseUrl, "api/chat"),
      headers,
      body: requestBody(settings, ollama, request, without),
    }),
    reader,
    probe: {
      url: joinUrl(settings.baseUrl, "api/tags"),
      headers,
      judge: (body) => judgeTags(body, settings.model),
      identify: (body) => textAt(findTagged(body, settings.model), "digest"),
    },
    sight: {
      url: joinUrl(settings.baseUrl, "api/show"),
      headers,
      body: { model: settings.model },
      judge: (body) => {
        const capabilities = fieldAt(body, "capabilities");
        return Array.isArray(capabilities) ? capabilities.includes("vision") : undefined;
      },
    },
  };
}

/** `name` alone means `name:latest`. */
function findTagged(body: Json, model: string): Json {
  const full = (name: string) => (/:[^/]*$/.test(name) ? name : `${name}:latest`);
  return listAt(body, "models").find((one) =>
    [textAt(one, "name"), textAt(one, "model")].map(full).includes(full(model)),
  );
}

function judgeTags(body: Json, model: string): "there" | "missing" | "in-the-cloud" {
  const found = findTagged(body, model);
  if (found === undefined) return "missing";
  return textAt(found, "remote_host") === "" ? "there" : "in-the-cloud";
}

function requestBody(
  settings: ModelSettings,
  { keepAlive, maxContext }: OllamaSettings,
  request: ModelRequest,
  without: ReadonlySet<string>,
): object {
  const { maxTokens, temperature, effort } = requestOptions(settings, request);
  return {
    model: settings.model,
    stream: true,
    keep_alive: keepAlive,
    // Without these, what does not fit is dropped in silence.
    ...(!without.has("truncate") && { truncate: false }),
    ...(!without.has("shift") && { shift: false }),
    ...(effort !== null && !without.has("think") && { think: thinkOf(settings.model, effort) }),
    options: {
      num_ctx: maxContext,
      ...(maxTokens !== null && { num_predict: maxTokens }),
      ...(temperature !== null && { temperature }),
    },
    ...(request.json && { format: request.json === true ? "json" : request.json }),
    ...chatParts(request, messageOf),
  };
}

/** Most models think or do not; gpt-oss always does, more or less. */
function thinkOf(model: string, effort: Effort): boolean | "low" | "medium" | "high" {
  if (!/gpt-oss/.test(model)) return effort !== "off";
  return effort === "off" ? "low" : effort;
}

function messageOf(message: ModelMessage): object {
  switch (message.role) {
    case "user": {
      const { text, images = [] } = message;
      return {
        role: "user",
        content: text,
        ...(images.length > 0 && { images: images.map(({ data }) => data) }),
      };
    }
    case "tool":
      return { role: "tool", content: message.text, tool_name: message.name };
    case "assistant": {
      const calls = message.toolCalls ?? [];
      return {
        role: "assistant",
        content: message.text,
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ id, name, arguments: args }) => ({
            id,
            function: { name, arguments: argumentsObject(args) },
          })),
        }),
      };
    }
  }
}

function reader(answer: AnswerSink): (frame: Json) => void {
  return (frame) => {
    const error = fieldAt(frame, "error");
    if (error !== undefined) {
      answer.problem({ message: typeof error === "string" ? error : JSON.stringify(error) });
      return;
    }
    const message = fieldAt(frame, "message");
    answer.reasoning(textAt(message, "thinking"));
    answer.text(textAt(message, "content"));
    for (const call of listAt(message, "tool_calls"))
      answer.call({
        id: textAt(call, "id"),
        name: textAt(call, "function", "name"),
        arguments: fieldAt(call, "function", "arguments") ?? {},
      });
    if (fieldAt(frame, "done") !== true) return;
    answer.usage({
      inputTokens: countAt(frame, "prompt_eval_count"),
      outputTokens: countAt(frame, "eval_count"),
    });
    answer.finish(textAt(frame, "done_reason") === "length" ? "length" : "stop");
    answer.over();
  };
}
