import type { ModelAnswer, ModelMessage, ModelRequest } from "../../../application/ports/models.ts";
import { joinUrl } from "../../../domain/models/locality.ts";
import { familyOf } from "../../../domain/models/model-facts.ts";
import { ownMember } from "../../../domain/platform/json-members.ts";
import { type AnswerSink, thoughtsOf } from "../answer.ts";
import { countAt, fieldAt, type Json, listAt, textAt } from "../json-fields.ts";
import { type ModelSettings, requestOptions } from "../model-settings.ts";
import { argumentsObject, bearer, chatParts, mentionsJson, probeList, type Wire } from "../wire.ts";

/** As the many servers of this protocol word it; what is not here is an ordinary end. */
const FINISH: Readonly<Record<string, ModelAnswer["finish"]>> = {
  length: "length",
  max_tokens: "length",
  model_length: "length",
  max_output_tokens: "length",
  model_context_window_exceeded: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
};

/** Gateways pass on the error of the server behind them. */
const FILTERED = /filter|refusal|safety|sensitive|blocked|blocklist|prohibited|recitation|spii|moderation/;

/** Ends that are the server's own trouble. */
const TROUBLE = /^(error|network_error|insufficient_system_resource|abort)$/;

/** Reads the stream of chat completions, or one whole completion. */
export function readChat(answer: AnswerSink): (frame: Json) => void {
  const takeCall = createCallReader(answer);
  const thoughts = createChatThoughts(answer);
  let refused = false;
  const takeContent = (content: Json) => {
    for (const part of Array.isArray(content) ? content : [content])
      if (typeof part === "string") answer.text(part);
      else if (textAt(part, "type") === "thinking") answer.reasoning(thinkingIn(part));
      else answer.text(textAt(part, "text"));
  };
  return (frame) => {
    const choice = fieldAt(frame, "choices", 0);
    const error = fieldAt(frame, "error") ?? fieldAt(choice, "error");
    if (error !== undefined && error !== null) return problemOf(answer, error);
    // A server that does not stream puts a message where the others put a delta.
    const isWhole = fieldAt(choice, "message") !== undefined && fieldAt(choice, "message") !== null;
    const delta = fieldAt(choice, "delta") ?? fieldAt(choice, "message");
    thoughts.take(delta);
    takeContent(fieldAt(delta, "content"));
    const refusal = textAt(delta, "refusal");
    if (refusal !== "") {
      refused = true;
      answer.text(refusal);
    }
    for (const [place, call] of listAt(delta, "tool_calls").entries()) takeCall(call, place);
    const reason = textAt(choice, "finish_reason").toLowerCase();
    if (reason !== "" || isWhole) thoughts.keep();
    if (TROUBLE.test(reason)) return answer.problem({ message: reason, code: "server_error" });
    if (reason !== "")
      answer.finish(refused || FILTERED.test(reason) ? "filtered" : (ownMember(FINISH, reason) ?? "stop"));
    if (isWhole) {
      if (reason === "") answer.finish(refused ? "filtered" : "stop");
      answer.over();
    }
    takeUsage(
      answer,
      fieldAt(frame, "usage") ?? fieldAt(choice, "usage") ?? fieldAt(frame, "x_groq", "usage"),
    );
  };
}

/** Mistral's thoughts are a list of parts in a part. */
function thinkingIn(part: Json): string {
  const thinking = fieldAt(part, "thinking");
  if (typeof thinking === "string") return thinking;
  return listAt(part, "thinking")
    .map((one) => textAt(one, "text"))
    .join("");
}

/** DeepSeek and others want their thoughts of a tool loop back, OpenRouter those of the model behind it, piece by piece. */
function createChatThoughts(answer: AnswerSink) {
  let content = "";
  const details = new Map<unknown, Record<string, unknown>>();
  const takeDetail = (piece: Json, place: number) => {
    if (typeof piece !== "object" || piece === null) return;
    const key = fieldAt(piece, "index") ?? place;
    const known = details.get(key) ?? {};
    for (const [name, value] of Object.entries(piece)) {
      const before = known[name];
      const grows = JOINED.has(name) && typeof before === "string" && typeof value === "string";
      if (grows) known[name] = before + value;
      else if (value !== null || before === undefined) known[name] = value;
    }
    details.set(key, known);
  };
  return {
    take(delta: Json): void {
      const reasoning = textAt(delta, "reasoning_content");
      content += reasoning;
      answer.reasoning(reasoning || textAt(delta, "reasoning"));
      for (const [place, piece] of listAt(delta, "reasoning_details").entries()) takeDetail(piece, place);
    },
    keep(): void {
      if (content !== "") answer.thought({ reasoning_content: content });
      if (details.size > 0) answer.thought({ reasoning_details: [...details.values()] });
    },
  };
}

const JOINED: ReadonlySet<string> = new Set(["text", "summary", "data"]);

function createCallReader(answer: AnswerSink): (call: Json, place: number) => void {
  let current = 0;
  return (call, place) => {
    const named = fieldAt(call, "index");
    const id = textAt(call, "id");
    // Servers without numbers send whole calls, or continue the last one.
    current = typeof named === "number" ? named : id === "" ? current : current + 1 + place;
    const given = fieldAt(call, "function", "arguments");
    answer.callPart(current, {
      id,
      name: textAt(call, "function", "name"),
      arguments: typeof given === "object" && given !== null ? JSON.stringify(given) : String(given ?? ""),
    });
  };
}

function problemOf(answer: AnswerSink, error: Json): void {
  const status = fieldAt(error, "code");
  answer.problem({
    message: textAt(error, "message") || textAt(error),
    code: `${textAt(error, "code")} ${textAt(error, "type")}`,
    ...(typeof status === "number" && status >= 400 && { status }),
  });
}

function takeUsage(answer: AnswerSink, usage: Json): void {
  if (countAt(usage, "completion_tokens_details", "reasoning_tokens") > 0) answer.thought();
  const inputTokens = countAt(usage, "prompt_tokens");
  const outputTokens = countAt(usage, "completion_tokens");
  // Some servers send empty figures with every piece; a prompt read wholly from a cache may count as 0.
  if (inputTokens + outputTokens === 0) return;
  answer.usage({
    inputTokens,
    outputTokens,
    cachedTokens:
      countAt(usage, "prompt_tokens_details", "cached_tokens") ||
      countAt(usage, "prompt_cache_hit_tokens") ||
      countAt(usage, "cached_tokens"),
  });
}

/** Chat completions, as DeepSeek and every OpenAI-compatible server speak them. `base_url` ends where `/chat` begins. */
export function createOpenAiChatWire(settings: ModelSettings): Wire {
  const headers = bearer(settings);
  return {
    framing: "sse",
    request: (request, without) => ({
      url: joinUrl(settings.baseUrl, "chat/completions"),
      headers: { ...headers, accept: "text/event-stream" },
      body: requestBody(settings, request, without),
    }),
    reader: readChat,
    list: joinUrl(settings.baseUrl, "models"),
    probe: probeList(joinUrl(settings.baseUrl, "models"), headers, settings.model),
  };
}

function requestBody(settings: ModelSettings, request: ModelRequest, without: ReadonlySet<string>): object {
  const { maxTokens, temperature } = requestOptions(settings, request);
  const limit = without.has("max_tokens") ? "max_completion_tokens" : "max_tokens";
  return {
    model: settings.model,
    stream: true,
    ...(!without.has("stream_options") && { stream_options: { include_usage: true } }),
    ...(maxTokens !== null && { [limit]: maxTokens }),
    ...(temperature !== null && !without.has("temperature") && { temperature }),
    ...effortOf(settings, request, without),
    ...(request.json &&
      mentionsJson(request) &&
      !without.has("response_format") && {
        response_format:
          request.json === true
            ? { type: "json_object" }
            : { type: "json_schema", json_schema: { name: "file", strict: true, schema: request.json } },
      }),
    ...chatParts(request, (message) => messageOf(message, settings)),
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

function messageOf(message: ModelMessage, settings: ModelSettings): object {
  switch (message.role) {
    case "user": {
      const { text, images = [] } = message;
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
          function: { name, arguments: JSON.stringify(argumentsObject(args)) },
        })),
      };
    }
  }
}
