import type { ModelAnswer, ModelMessage, ModelRequest } from "../../application/ports/model.ts";
import type { AnswerSink } from "./answer.ts";
import type { ModelSettings } from "./settings.ts";
import { countAt, type Json, joinUrl, textAt, type Wire } from "./wire.ts";

const VERSION = "2023-06-01";
/** Below about a thousand tokens a prefix is not cached, and a mark would be for nothing. */
const WORTH_CACHING = 4000;
const MARK = { cache_control: { type: "ephemeral" } };

/** Anthropic's messages API. `base_url` is the server's root, as in Anthropic's own settings; `/v1` may stand there. */
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
      body: bodyOf(settings, request, without),
    }),
    reader,
    probe: {
      url: joinUrl(base, `v1/models/${encodeURIComponent(settings.model)}`),
      headers,
      judge: () => "there",
    },
  };
}

function bodyOf(settings: ModelSettings, request: ModelRequest, without: ReadonlySet<string>): object {
  const { system, tools = [] } = request;
  const temperature = request.temperature ?? settings.temperature;
  const fixed = (system?.length ?? 0) + (tools.length === 0 ? 0 : JSON.stringify(tools).length);
  const marks = without.has("cache_control") ? "none" : fixed >= WORTH_CACHING ? "system" : "turns";
  const messages = messagesOf(request.messages);
  // A conversation that goes on is read from the cache up to here next time.
  const last = messages.at(-1)?.content.at(-1);
  if (marks !== "none" && request.messages.length > 1 && last !== undefined) Object.assign(last, MARK);
  return {
    model: settings.model,
    max_tokens: request.maxTokens ?? settings.maxTokens ?? 8192,
    stream: true,
    ...(system && { system: [{ type: "text", text: system, ...(marks === "system" && MARK) }] }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: parameters,
      })),
    }),
    ...(temperature !== null && !without.has("temperature") && { temperature: Math.min(1, temperature) }),
    messages,
  };
}

interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: object[];
}

/** Turns alternate, results come first in the user's, and no text may be empty. */
function messagesOf(messages: readonly ModelMessage[]): WireMessage[] {
  const turns: WireMessage[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    let turn = turns.at(-1);
    if (turn?.role !== role) {
      turn = { role, content: [] };
      turns.push(turn);
    }
    turn.content.push(...blocksOf(message));
  }
  return turns.filter(({ content }) => content.length > 0);
}

function blocksOf(message: ModelMessage): object[] {
  const text = message.text.trim() === "" ? [] : [{ type: "text", text: message.text }];
  switch (message.role) {
    case "user":
      return text;
    case "tool":
      return [{ type: "tool_result", tool_use_id: message.callId, content: message.text }];
    case "assistant":
      return [
        // The API refuses an assistant's last turn that ends in white space.
        ...text.map((block) => ({ ...block, text: block.text.trimEnd() })),
        ...(message.toolCalls ?? []).map(({ id, name, arguments: input }) => ({
          type: "tool_use",
          id,
          name,
          input: typeof input === "object" && input !== null ? input : { input },
        })),
      ];
  }
}

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

function reader(answer: AnswerSink): (frame: Json) => void {
  return (frame) => {
    const index = countAt(frame, "index");
    switch (textAt(frame, "type")) {
      case "message_start":
        return takeInput(answer, frame);
      case "content_block_start":
        if (textAt(frame, "content_block", "type") === "tool_use")
          answer.callPart(index, {
            id: textAt(frame, "content_block", "id"),
            name: textAt(frame, "content_block", "name"),
          });
        else answer.text(textAt(frame, "content_block", "text"));
        return;
      case "content_block_delta":
        return takeDelta(answer, frame, index);
      case "content_block_stop":
        return answer.callEnd(index);
      case "message_delta": {
        const reason = textAt(frame, "delta", "stop_reason");
        if (reason !== "") answer.finish(FINISH[reason] ?? "stop");
        const outputTokens = countAt(frame, "usage", "output_tokens");
        if (outputTokens > 0) answer.usage({ outputTokens });
        return;
      }
      case "message_stop":
        return answer.over();
      case "error": {
        const code = textAt(frame, "error", "type");
        const status = STATUS[code];
        return answer.problem({
          code,
          message: textAt(frame, "error", "message"),
          ...(status !== undefined && { status }),
        });
      }
    }
  };
}

function takeDelta(answer: AnswerSink, frame: Json, index: number): void {
  const type = textAt(frame, "delta", "type");
  if (type === "text_delta") answer.text(textAt(frame, "delta", "text"));
  else if (type === "thinking_delta") answer.reasoning(textAt(frame, "delta", "thinking"));
  else if (type === "input_json_delta")
    answer.callPart(index, { arguments: textAt(frame, "delta", "partial_json") });
}

/** What was written to the cache and read from it is not in `input_tokens`. */
function takeInput(answer: AnswerSink, frame: Json): void {
  const count = (name: string) => countAt(frame, "message", "usage", name);
  const cachedTokens = count("cache_read_input_tokens");
  answer.usage({
    inputTokens: count("input_tokens") + count("cache_creation_input_tokens") + cachedTokens,
    cachedTokens,
    outputTokens: count("output_tokens"),
  });
}
