import type { ModelAnswer } from "../../../application/ports/models.ts";
import type { AnswerSink } from "../answer.ts";
import { countAt, fieldAt, type Json, listAt, textAt } from "../json-fields.ts";

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
  const usage = createUsage(answer);
  const end = (index: number) => {
    answer.callEnd(index, calls.get(index));
    calls.delete(index);
    const thought = thoughts.get(index);
    // Unsigned, it is refused when it comes back.
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
        return usage.take(fieldAt(frame, "message", "usage"));
      case "content_block_start":
        return begin(index, fieldAt(frame, "content_block"));
      case "content_block_delta":
        if (calls.has(index)) answer.callPart(index, { arguments: textAt(frame, "delta", "partial_json") });
        return takeDelta(answer, fieldAt(frame, "delta"), thoughts.get(index));
      case "content_block_stop":
        return end(index);
      case "message_delta":
        reason = textAt(frame, "delta", "stop_reason") || reason;
        return usage.take(fieldAt(frame, "usage"));
      case "message_stop":
        if (reason !== "") answer.finish(FINISH[reason] ?? "stop");
        return answer.over();
      // A server that does not stream.
      case "message":
        for (const [place, block] of listAt(frame, "content").entries()) {
          begin(place, block);
          end(place);
        }
        usage.take(fieldAt(frame, "usage"));
        answer.finish(FINISH[textAt(frame, "stop_reason")] ?? "stop");
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

/** As it goes back with the calls that followed it. */
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

/** What was written to the cache and read from it is not in `input_tokens`. Where a figure comes twice, the later one counts. */
function createUsage(answer: AnswerSink) {
  const counts: Record<string, number> = {};
  const count = (name: string) => counts[name] ?? 0;
  return {
    take(usage: Json): void {
      for (const name of FIGURES) counts[name] = countAt(usage, name) || count(name);
      const cachedTokens = count("cache_read_input_tokens");
      answer.usage({
        inputTokens: count("input_tokens") + count("cache_creation_input_tokens") + cachedTokens,
        outputTokens: count("output_tokens"),
        cachedTokens,
      });
    },
  };
}

const FIGURES = [
  "input_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "output_tokens",
] as const;
