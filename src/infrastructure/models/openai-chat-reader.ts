import type { ModelAnswer } from "../../application/ports/model.ts";
import type { AnswerSink } from "./answer.ts";
import type { CallExtras } from "./call-extras.ts";
import { at, countAt, type Json, listAt, textAt } from "./wire.ts";

/** As the many servers of this protocol word it; what is not here is an ordinary end. */
const FINISH: Readonly<Record<string, ModelAnswer["finish"]>> = {
  length: "length",
  max_tokens: "length",
  model_length: "length",
  max_output_tokens: "length",
  model_context_window_exceeded: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  content_filter: "filtered",
  refusal: "filtered",
  safety: "filtered",
  sensitive: "filtered",
};

/** Ends that are the server's own trouble. */
const TROUBLE = /^(error|network_error|insufficient_system_resource|abort)$/;

/** Reads the stream of chat completions, or one whole completion. */
export function readChat(answer: AnswerSink, thoughts: CallExtras): (frame: Json) => void {
  const calls = createChatCalls(answer);
  let thought = "";
  let kept = false;
  let refused = false;
  const takeCalls = (delta: Json) => {
    for (const [place, call] of listAt(delta, "tool_calls").entries()) {
      const id = calls.take(call, place);
      if (id === "" || kept || thought === "") continue;
      kept = true;
      thoughts.keep(id, thought);
    }
  };
  const takeContent = (content: Json) => {
    for (const part of Array.isArray(content) ? content : [content])
      if (typeof part === "string") answer.text(part);
      else if (textAt(part, "type") === "thinking") answer.reasoning(thinkingIn(part));
      else answer.text(textAt(part, "text"));
  };
  return (frame) => {
    const choice = at(frame, "choices", 0);
    const error = at(frame, "error") ?? at(choice, "error");
    if (error !== undefined && error !== null) return problemOf(answer, error);
    // A server that does not stream puts a message where the others put a delta.
    const whole = at(choice, "message");
    const delta = at(choice, "delta") ?? whole;
    const reasoning = textAt(delta, "reasoning_content") || textAt(delta, "reasoning");
    if (textAt(delta, "reasoning_content") !== "") thought += reasoning;
    answer.reasoning(reasoning);
    takeContent(at(delta, "content"));
    const refusal = textAt(delta, "refusal");
    if (refusal !== "") {
      refused = true;
      answer.text(refusal);
    }
    takeCalls(delta);
    const reason = textAt(choice, "finish_reason").toLowerCase();
    if (TROUBLE.test(reason)) return answer.problem({ message: reason, code: "server_error" });
    if (reason !== "") answer.finish(refused ? "filtered" : (FINISH[reason] ?? "stop"));
    if (whole !== undefined && whole !== null) {
      if (reason === "") answer.finish(refused ? "filtered" : "stop");
      answer.over();
    }
    takeUsage(answer, at(frame, "usage") ?? at(choice, "usage") ?? at(frame, "x_groq", "usage"));
  };
}

/** Mistral's thoughts are a list of parts in a part. */
function thinkingIn(part: Json): string {
  const thinking = at(part, "thinking");
  if (typeof thinking === "string") return thinking;
  return listAt(part, "thinking")
    .map((one) => textAt(one, "text"))
    .join("");
}

function createChatCalls(answer: AnswerSink) {
  let current = 0;
  return {
    /** Returns the id of the call, if this piece tells it. */
    take(call: Json, place: number): string {
      const named = at(call, "index");
      const id = textAt(call, "id");
      // Servers that number nothing send whole calls, or go on with the last one.
      current = typeof named === "number" ? named : id === "" ? current : current + 1 + place;
      const given = at(call, "function", "arguments");
      answer.callPart(current, {
        id,
        name: textAt(call, "function", "name"),
        arguments: typeof given === "object" && given !== null ? JSON.stringify(given) : String(given ?? ""),
      });
      return id;
    },
  };
}

function problemOf(answer: AnswerSink, error: Json): void {
  const status = at(error, "code");
  answer.problem({
    message: textAt(error, "message") || textAt(error),
    code: `${textAt(error, "code")} ${textAt(error, "type")}`,
    ...(typeof status === "number" && status >= 400 && { status }),
  });
}

function takeUsage(answer: AnswerSink, usage: Json): void {
  if (countAt(usage, "completion_tokens_details", "reasoning_tokens") > 0) answer.thought();
  const inputTokens = countAt(usage, "prompt_tokens");
  if (inputTokens === 0) return;
  answer.usage({
    inputTokens,
    outputTokens: countAt(usage, "completion_tokens"),
    cachedTokens:
      countAt(usage, "prompt_tokens_details", "cached_tokens") ||
      countAt(usage, "prompt_cache_hit_tokens") ||
      countAt(usage, "cached_tokens"),
  });
}
