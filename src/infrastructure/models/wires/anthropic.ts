import type { ModelAnswer, ModelMessage, ModelRequest } from "../../../application/ports/models.ts";
import { joinUrl } from "../../../domain/models/locality.ts";
import { ownMember } from "../../../domain/platform/json-members.ts";
import { type AnswerSink, thoughtsOf, writeInOrder } from "../answer.ts";
import { countAt, fieldAt, type Json, listAt, textAt } from "../json-fields.ts";
import { type ModelSettings, requestOptions } from "../model-settings.ts";
import { argumentsObject, probeList, turnsOf, type Wire } from "../wire.ts";

const FINISH: Readonly<Record<string, ModelAnswer["finish"]>> = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool-calls",
  refusal: "filtered",
};

const STATUS: Readonly<Record<string, number>> = {
  overloaded_error: 529,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  invalid_request_error: 400,
};

/** Reads the stream of Anthropic's messages API, or one whole message. */
export function readAnthropic(answer: AnswerSink): (frame: Json) => void {
  // Blocks of tools that the server runs itself have the same pieces as ours.
  const calls = new Map<number, string>();
  const thoughts = new Map<number, Thought>();
  const takeUsage = createUsageReader(answer);
  const end = (index: number) => {
    answer.callEnd(index, calls.get(index));
    calls.delete(index);
    const thought = thoughts.get(index);
    // Without its signature the server refuses it in the next request.
    if (thought !== undefined && thought.signature !== "") answer.thought(thought);
    thoughts.delete(index);
  };
  const begin = (index: number, block: Json) => {
    end(index);
    switch (textAt(block, "type")) {
      case "tool_use":
        calls.set(index, JSON.stringify(fieldAt(block, "input") ?? {}));
        return answer.callPart(index, { id: textAt(block, "id"), name: textAt(block, "name") });
      case "thinking": {
        const thinking = textAt(block, "thinking");
        thoughts.set(index, { type: "thinking", thinking, signature: textAt(block, "signature") });
        answer.thought();
        return answer.reasoning(thinking);
      }
      case "redacted_thinking":
        return answer.thought({ type: "redacted_thinking", data: textAt(block, "data") });
      case "text":
        return answer.text(textAt(block, "text"));
    }
  };
  let reason = "";
  return (frame) => {
    const index = countAt(frame, "index");
    switch (textAt(frame, "type")) {
      case "message_start":
        // A gateway may join two messages to one stream.
        for (const open of [...calls.keys()]) end(open);
        answer.finish(undefined);
        return takeUsage(fieldAt(frame, "message", "usage"));
      case "content_block_start":
        return begin(index, fieldAt(frame, "content_block"));
      case "content_block_delta":
        if (calls.has(index)) answer.callPart(index, { arguments: textAt(frame, "delta", "partial_json") });
        return takeDelta(answer, fieldAt(frame, "delta"), thoughts.get(index));
      case "content_block_stop":
        return end(index);
      case "message_delta":
        reason = textAt(frame, "delta", "stop_reason") || reason;
        return takeUsage(fieldAt(frame, "usage"));
      case "message_stop":
        if (reason !== "") answer.finish(ownMember(FINISH, reason) ?? "stop");
        return answer.over();
      // A server that does not stream.
      case "message":
        for (const [place, block] of listAt(frame, "content").entries()) {
          begin(place, block);
          end(place);
        }
        takeUsage(fieldAt(frame, "usage"));
        answer.finish(ownMember(FINISH, textAt(frame, "stop_reason")) ?? "stop");
        return answer.over();
      case "error": {
        const code = textAt(frame, "error", "type");
        const status = ownMember(STATUS, code);
        return answer.problem({
          code,
          message: textAt(frame, "error", "message"),
          ...(status !== undefined && { status }),
        });
      }
    }
  };
}

/** As it is sent back with the calls that followed it. */
interface Thought {
  readonly type: "thinking";
  thinking: string;
  signature: string;
}

function takeDelta(answer: AnswerSink, delta: Json, thought: Thought | undefined): void {
  const type = textAt(delta, "type");
  if (type === "text_delta") answer.text(textAt(delta, "text"));
  else if (type === "thinking_delta") answer.reasoning(textAt(delta, "thinking"));
  if (thought === undefined) return;
  thought.thinking += textAt(delta, "thinking");
  thought.signature += textAt(delta, "signature");
}

/** Cached tokens are not in `input_tokens`. If a figure is sent twice, the later one counts. */
function createUsageReader(answer: AnswerSink): (usage: Json) => void {
  const counts = {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
  };
  return (usage) => {
    for (const name of Object.keys(counts) as (keyof typeof counts)[])
      counts[name] = countAt(usage, name) || counts[name];
    const cachedTokens = counts.cache_read_input_tokens;
    answer.usage({
      inputTokens: counts.input_tokens + counts.cache_creation_input_tokens + cachedTokens,
      outputTokens: counts.output_tokens,
      cachedTokens,
    });
  };
}

const VERSION = "2023-06-01";
/** Below about a thousand tokens a prefix is not cached, and a mark would be for nothing. */
const WORTH_CACHING = 4000;
const MARK = { cache_control: { type: "ephemeral" } };

/** Anthropic's messages API. `base_url` is the server's root, as in Anthropic's own settings; `/v1` is accepted. */
export function createAnthropicWire(settings: ModelSettings): Wire {
  const base = settings.baseUrl.replace(/\/v1\/?$/, "");
  const headers = {
    "anthropic-version": VERSION,
    ...(settings.apiKey !== undefined && { "x-api-key": settings.apiKey }),
  };
  return {
    framing: "sse",
    request: (request, without) => ({
      url: joinUrl(base, "v1/messages"),
      headers,
      body: requestBody(settings, request, without),
    }),
    reader: readAnthropic,
    list: joinUrl(base, "v1/models?limit=100"),
    probe: {
      url: joinUrl(base, `v1/models/${encodeURIComponent(settings.model)}`),
      headers,
      judge: () => "there",
      instead: probeList(joinUrl(base, "v1/models"), headers, settings.model),
    },
  };
}

function requestBody(settings: ModelSettings, request: ModelRequest, without: ReadonlySet<string>): object {
  const { system, tools = [] } = request;
  const { maxTokens, temperature } = requestOptions(settings, request);
  const thinking = thinkingOf(settings, request, without);
  const fixed = (system?.length ?? 0) + (tools.length === 0 ? 0 : JSON.stringify(tools).length);
  const marks = without.has("cache_control") ? "none" : fixed >= WORTH_CACHING ? "system" : "turns";
  const messages = turnsOf(request.messages, (message) => blocksOf(message, settings)).map(
    ({ isModel, parts }) => ({ role: isModel ? "assistant" : "user", content: parts }),
  );
  // The next request of the conversation is read from the cache up to here.
  const last = messages.at(-1)?.content.at(-1);
  const isContinued = request.messages.length > 1 || tools.length > 0;
  if (marks !== "none" && isContinued && last !== undefined) Object.assign(last, MARK);
  return {
    model: settings.model,
    max_tokens: maxTokens,
    stream: true,
    ...(system && { system: [{ type: "text", text: system, ...(marks === "system" && MARK) }] }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: parameters,
      })),
    }),
    ...thinking,
    // A thinking model takes no temperature.
    ...(temperature !== null &&
      !("thinking" in thinking) &&
      !without.has("temperature") && { temperature: Math.min(1, temperature) }),
    messages,
  };
}

const BUDGET = { low: 2048, medium: 8192, high: 16_384 } as const;
const LEAST_BUDGET = 1024;

/** Newer models choose how long they think; older ones want a number of tokens, and their own thoughts back. */
function thinkingOf(
  settings: ModelSettings,
  request: ModelRequest,
  without: ReadonlySet<string>,
): { readonly thinking?: object; readonly output_config?: object } {
  const { maxTokens, effort } = requestOptions(settings, request);
  if (effort === null || effort === "off" || without.has("thinking")) return {};
  if (!without.has("adaptive") && !wantsBudget(settings.model))
    return {
      thinking: { type: "adaptive" },
      ...(!without.has("effort") && { output_config: { effort } }),
    };
  const budget = Math.min(BUDGET[effort], Math.floor((maxTokens ?? 0) / 2));
  const lost = request.messages.some(
    (message) =>
      message.role === "assistant" &&
      (message.toolCalls ?? []).length > 0 &&
      thoughtsOf(message, settings).length === 0,
  );
  return budget < LEAST_BUDGET || lost ? {} : { thinking: { type: "enabled", budget_tokens: budget } };
}

function wantsBudget(model: string): boolean {
  const [, major, minor] = /claude-[a-z]+-(\d+)(?:-(\d{1,2}))?(?!\d)/.exec(model) ?? [];
  if (/claude-3|claude-2/.test(model)) return true;
  return major !== undefined && Number(major) * 100 + Number(minor ?? 0) < 406;
}

/** Turns alternate, results come first in the user's, and no text may be empty. */
function blocksOf(message: ModelMessage, settings: ModelSettings): readonly object[] {
  switch (message.role) {
    case "user": {
      const { text, images = [] } = message;
      return [
        ...images.map(({ mediaType, data }) => ({
          type: "image",
          source: { type: "base64", media_type: mediaType, data },
        })),
        ...(text.trim() === "" ? [] : [{ type: "text", text }]),
      ];
    }
    case "tool":
      return [{ type: "tool_result", tool_use_id: message.callId, content: message.text }];
    case "assistant":
      return writeInOrder<object>(message, settings, {
        thought: (block) => block as object,
        // The API refuses an assistant's last turn that ends in white space.
        text: (text) => ({ type: "text", text: text.trimEnd() }),
        call: ({ id, name, arguments: args }) => ({
          type: "tool_use",
          id,
          name,
          input: argumentsObject(args),
        }),
      });
  }
}
