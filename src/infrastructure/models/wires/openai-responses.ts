import { createHash } from "node:crypto";
import type { ModelMessage, ModelRequest } from "../../../application/ports/models.ts";
import { readResponses } from "./openai-responses-reader.ts";
import { type ModelSettings, requestOptions } from "../model-settings.ts";
import { writeInOrder } from "../thoughts.ts";
import { joinUrl, mentionsJson, toUserContent, type Wire } from "../wire.ts";

/** OpenAI's responses API, with nothing stored there. Its newer models speak only this. */
export function createOpenAiResponsesWire(settings: ModelSettings): Wire {
  const headers = settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` };
  return {
    framing: "sse",
    request: (request, without) => ({
      url: joinUrl(settings.baseUrl, "responses"),
      headers,
      body: requestBody(settings, request, without),
    }),
    reader: readResponses,
    probe: {
      url: joinUrl(settings.baseUrl, `models/${encodeURIComponent(settings.model)}`),
      headers,
      judge: () => "there",
    },
  };
}

function requestBody(settings: ModelSettings, request: ModelRequest, without: ReadonlySet<string>): object {
  const { tools = [] } = request;
  const { maxTokens, temperature } = requestOptions(settings, request);
  return {
    model: settings.model,
    stream: true,
    store: false,
    ...(!without.has("prompt_cache_key") && { prompt_cache_key: cacheKeyOf(settings, request) }),
    ...reasoningOf(settings, request, without),
    ...(request.system && { instructions: request.system }),
    ...(maxTokens !== null && { max_output_tokens: maxTokens }),
    ...(temperature !== null && !without.has("temperature") && { temperature }),
    ...(request.json === true && mentionsJson(request) && { text: { format: { type: "json_object" } } }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function",
        name,
        description,
        parameters,
        strict: false,
      })),
    }),
    input: request.messages.flatMap((message) => itemsOf(message, settings, without)),
  };
}

/** Requests that begin alike are sent to where that beginning is cached. */
function cacheKeyOf(
  { model }: ModelSettings,
  { cacheKey, system = "", tools = [], messages }: ModelRequest,
): string {
  if (cacheKey !== undefined) return cacheKey;
  const names = tools.map(({ name }) => name).join(" ");
  const begins = [model, system, names, messages[0]?.text ?? ""].join("\n");
  return createHash("sha256").update(begins).digest("hex").slice(0, 32);
}

/** With nothing stored there, thoughts are ours to keep, encrypted. */
function reasoningOf(settings: ModelSettings, request: ModelRequest, without: ReadonlySet<string>): object {
  const { model } = settings;
  if (!THINKS.test(model)) return {};
  const { effort } = requestOptions(settings, request);
  return {
    ...(!without.has("include") && { include: ["reasoning.encrypted_content"] }),
    ...(effort !== null &&
      !without.has("reasoning") && { reasoning: { effort: effort === "off" ? leastOf(model) : effort } }),
  };
}

const THINKS = /^(gpt-[5-9]|o\d|codex)/;

function leastOf(model: string): "none" | "minimal" | "low" {
  if (/^gpt-5(?![.\d])/.test(model)) return /codex/.test(model) ? "low" : "minimal";
  return model.startsWith("gpt-") ? "none" : "low";
}

function itemsOf(
  message: ModelMessage,
  settings: ModelSettings,
  without: ReadonlySet<string>,
): readonly object[] {
  switch (message.role) {
    case "user": {
      const { text, images } = toUserContent(message, without);
      if (images.length === 0) return [{ role: "user", content: text }];
      const parts = images.map(({ mediaType, data }) => ({
        type: "input_image",
        image_url: `data:${mediaType};base64,${data}`,
      }));
      return [{ role: "user", content: [...parts, { type: "input_text", text }] }];
    }
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: message.text }];
    case "assistant":
      return writeInOrder<object>(message, settings, {
        thought: (item) => item as object,
        text: (content) => ({ role: "assistant", content }),
        call: ({ id, name, arguments: args }) => ({
          type: "function_call",
          call_id: id,
          name,
          arguments: typeof args === "string" ? args : JSON.stringify(args),
        }),
      });
  }
}
