import { createHash } from "node:crypto";
import type { ModelMessage, ModelRequest } from "../../../application/ports/models.ts";
import { joinUrl } from "../../../domain/models/locality.ts";
import { type AnswerSink, writeInOrder } from "../answer.ts";
import { countAt, fieldAt, type Json, listAt, textAt } from "../json-fields.ts";
import { type ModelSettings, requestOptions } from "../model-settings.ts";
import { argumentsObject, bearer, mentionsJson, probeList, type Wire } from "../wire.ts";

/** A stream, or one whole response. Pieces belong together by their item's place: some servers change its id in every event. */
export function readResponses(answer: AnswerSink): (frame: Json) => void {
  let refused = false;
  /** Items of which no piece has arrived: some servers send them whole. */
  const seen = new Set<string | number>();
  const itemKey = createItemKeys();
  const refuse = (text: string) => {
    refused = true;
    answer.text(text);
  };
  const item = (key: string | number, whole: Json) => {
    switch (textAt(whole, "type")) {
      case "function_call":
        answer.callPart(key, { id: textAt(whole, "call_id"), name: textAt(whole, "name") });
        return answer.callEnd(key, textAt(whole, "arguments"));
      case "message":
        if (seen.has(key)) return;
        for (const part of listAt(whole, "content"))
          if (textAt(part, "type") === "refusal") refuse(textAt(part, "refusal"));
          else answer.text(textAt(part, "text"));
        return;
      case "reasoning":
        answer.thought(encrypted(whole));
        if (seen.has(key)) return;
        for (const part of [...listAt(whole, "summary"), ...listAt(whole, "content")])
          answer.reasoning(textAt(part, "text"));
        return;
    }
  };
  const end = (response: Json, kind: string) => {
    takeUsage(answer, response);
    if (kind === "completed") answer.finish(refused ? "filtered" : "stop");
    else {
      const reason = textAt(response, "incomplete_details", "reason");
      answer.finish(reason === "content_filter" ? "filtered" : "length");
    }
    answer.over();
  };
  return (frame) => {
    const key = itemKey(frame);
    const delta = textAt(frame, "delta");
    switch (textAt(frame, "type")) {
      case "response.output_text.delta":
        seen.add(key);
        return answer.text(delta);
      case "response.refusal.delta":
        seen.add(key);
        return refuse(delta);
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        seen.add(key);
        return answer.reasoning(delta);
      case "response.output_item.added":
        if (textAt(frame, "item", "type") === "function_call")
          answer.callPart(key, {
            id: textAt(frame, "item", "call_id"),
            name: textAt(frame, "item", "name"),
          });
        return;
      case "response.function_call_arguments.delta":
        return answer.callPart(key, { arguments: delta });
      case "response.output_item.done":
        item(key, fieldAt(frame, "item"));
        return void seen.add(key);
      case "response.completed":
      case "response.done":
        return end(fieldAt(frame, "response"), "completed");
      case "response.incomplete":
        return end(fieldAt(frame, "response"), "incomplete");
      case "response.failed":
        return problemOf(answer, fieldAt(frame, "response", "error"));
      case "error":
        return problemOf(answer, fieldAt(frame, "error") ?? frame);
    }
    if (textAt(frame, "object") === "response") whole(frame);
  };

  /** A server that does not stream. */
  function whole(response: Json): void {
    const error = fieldAt(response, "error");
    if (error !== undefined && error !== null) problemOf(answer, error);
    for (const [place, one] of listAt(response, "output").entries()) item(place, one);
    end(response, textAt(response, "status") || "completed");
  }
}

/** The item's place in the output; where an event does not number it, the place its id had, else the id. */
function createItemKeys(): (frame: Json) => string | number {
  const places = new Map<string, number>();
  return (frame) => {
    const place = fieldAt(frame, "output_index");
    const id = textAt(frame, "item_id") || textAt(frame, "item", "id");
    if (typeof place !== "number") return places.get(id) ?? id;
    if (id !== "") places.set(id, place);
    return place;
  };
}

/** As it is sent back with the calls that followed it. */
function encrypted(item: Json): Json {
  const content = textAt(item, "encrypted_content");
  if (content === "") return undefined;
  return { type: "reasoning", summary: listAt(item, "summary"), encrypted_content: content };
}

function problemOf(answer: AnswerSink, error: Json): void {
  answer.problem({
    code: textAt(error, "code") || textAt(error, "type"),
    message: textAt(error, "message"),
  });
}

function takeUsage(answer: AnswerSink, response: Json): void {
  if (countAt(response, "usage", "output_tokens_details", "reasoning_tokens") > 0) answer.thought();
  answer.usage({
    inputTokens: countAt(response, "usage", "input_tokens"),
    outputTokens: countAt(response, "usage", "output_tokens"),
    cachedTokens: countAt(response, "usage", "input_tokens_details", "cached_tokens"),
  });
}

/** OpenAI's responses API, with nothing stored there. Its newer models speak only this. */
export function createOpenAiResponsesWire(settings: ModelSettings): Wire {
  const headers = bearer(settings);
  return {
    framing: "sse",
    request: (request, without) => ({
      url: joinUrl(settings.baseUrl, "responses"),
      headers,
      body: requestBody(settings, request, without),
    }),
    reader: readResponses,
    list: joinUrl(settings.baseUrl, "models"),
    probe: {
      url: joinUrl(settings.baseUrl, `models/${encodeURIComponent(settings.model)}`),
      headers,
      judge: () => "there",
      instead: probeList(joinUrl(settings.baseUrl, "models"), headers, settings.model),
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
    ...(request.json !== undefined &&
      request.json !== false &&
      mentionsJson(request) && { text: { format: { type: "json_object" } } }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function",
        name,
        description,
        parameters,
        strict: false,
      })),
    }),
    input: request.messages.flatMap((message) => itemsOf(message, settings)),
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

function itemsOf(message: ModelMessage, settings: ModelSettings): readonly object[] {
  switch (message.role) {
    case "user": {
      const { text, images = [] } = message;
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
          arguments: JSON.stringify(argumentsObject(args)),
        }),
      });
  }
}
