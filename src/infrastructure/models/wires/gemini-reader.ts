import type { ModelAnswer } from "../../../application/ports/models.ts";
import type { AnswerSink } from "../answer.ts";
import { countAt, fieldAt, type Json, listAt, textAt } from "../json-fields.ts";

const FINISH: Readonly<Record<string, ModelAnswer["finish"]>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "filtered",
  RECITATION: "filtered",
  LANGUAGE: "filtered",
  BLOCKLIST: "filtered",
  PROHIBITED_CONTENT: "filtered",
  SPII: "filtered",
  IMAGE_SAFETY: "filtered",
  UNEXPECTED_TOOL_CALL: "filtered",
};

/** The model wrote a call that Google cannot read; there is no answer. */
const UNREADABLE = /^MALFORMED_/;

/** Reads the stream of Google's API: objects one by one, or in one list. */
export function readGemini(answer: AnswerSink): (frame: Json) => void {
  return (given) => {
    for (const frame of Array.isArray(given) ? given : [given]) take(frame);
  };

  function take(frame: Json): void {
    if (fieldAt(frame, "error") !== undefined) {
      const status = countAt(frame, "error", "code");
      answer.problem({
        message: textAt(frame, "error", "message"),
        code: textAt(frame, "error", "status"),
        ...(status >= 400 && { status }),
      });
      return;
    }
    const candidate = fieldAt(frame, "candidates", 0);
    for (const part of listAt(candidate, "content", "parts")) takePart(part);
    const reason = textAt(candidate, "finishReason");
    if (UNREADABLE.test(reason))
      answer.problem({ message: textAt(candidate, "finishMessage") || reason, unreadable: true });
    else if (reason !== "") answer.finish(FINISH[reason] ?? "stop");
    if (textAt(frame, "promptFeedback", "blockReason") !== "") answer.finish("filtered");
    takeUsage(answer, fieldAt(frame, "usageMetadata"));
  }

  function takePart(part: Json): void {
    const call = fieldAt(part, "functionCall");
    if (call !== undefined) {
      const id = answer.call({
        id: textAt(call, "id"),
        name: textAt(call, "name"),
        arguments: fieldAt(call, "args") ?? {},
      });
      const signature = textAt(part, "thoughtSignature");
      if (signature !== "") answer.thought({ callId: id, signature });
    } else if (fieldAt(part, "thought") === true) answer.reasoning(textAt(part, "text"));
    else answer.text(textAt(part, "text"));
  }
}

function takeUsage(answer: AnswerSink, usage: Json): void {
  const thoughts = countAt(usage, "thoughtsTokenCount");
  if (thoughts > 0) answer.thought();
  const inputTokens = countAt(usage, "promptTokenCount");
  if (inputTokens > 0)
    answer.usage({
      inputTokens,
      outputTokens: countAt(usage, "candidatesTokenCount") + thoughts,
      cachedTokens: countAt(usage, "cachedContentTokenCount"),
    });
}
