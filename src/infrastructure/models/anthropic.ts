import type { ModelMessage, ModelRequest } from "../../application/ports/model.ts";
import { readAnthropic } from "./anthropic-reader.ts";
import type { ModelSettings } from "./settings.ts";
import { joinUrl, type Wire } from "./wire.ts";

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
    reader: readAnthropic,
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
