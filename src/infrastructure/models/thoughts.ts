import type { ModelMessage, ModelThoughts, ToolCall } from "../../application/ports/models.ts";
import { fieldAt, type Json } from "./json-fields.ts";
import type { ModelSettings } from "./model-settings.ts";

/** An answer with thoughts, part by part as the model wrote it: the order counts for those who signed it. */
export type TracePart = { readonly thought: Json } | { readonly call: string } | "text";

export function thinkerOf({ type, model }: Pick<ModelSettings, "type" | "model">): string {
  return `${type} ${model}`;
}

type AssistantMessage = Extract<ModelMessage, { role: "assistant" }>;

/** Nothing where the thoughts are another model's. */
function traceOf({ thoughts }: AssistantMessage, settings: ModelSettings): readonly Json[] {
  return thoughts?.thinker === thinkerOf(settings) && Array.isArray(thoughts.parts) ? thoughts.parts : [];
}

/** The thoughts alone, as the reader of this wire kept them. */
export function thoughtsOf(message: AssistantMessage, settings: ModelSettings): readonly Json[] {
  return traceOf(message, settings)
    .map((part) => fieldAt(part, "thought"))
    .filter((thought) => thought !== undefined);
}

/** Writes thoughts, text and calls in the order in which they came; what has no place of its own comes last. */
export function writeInOrder<T>(
  message: AssistantMessage,
  settings: ModelSettings,
  write: {
    readonly thought: (what: Json) => T;
    readonly text: (text: string) => T;
    readonly call: (call: ToolCall) => T;
  },
): T[] {
  const open = new Map((message.toolCalls ?? []).map((call) => [call.id, call]));
  let text = message.text;
  const written: T[] = [];
  for (const part of [...traceOf(message, settings), "text", ...[...open.keys()].map((call) => ({ call }))]) {
    const thought = fieldAt(part, "thought");
    const call = open.get(String(fieldAt(part, "call") ?? ""));
    if (thought !== undefined) written.push(write.thought(thought));
    else if (call !== undefined) {
      open.delete(call.id);
      written.push(write.call(call));
    } else if (part === "text" && text.trim() !== "") {
      written.push(write.text(text));
      text = "";
    }
  }
  return written;
}

/** Collects while an answer is read. */
export function createTrace() {
  const parts: TracePart[] = [];
  return {
    text: () => {
      if (parts.at(-1) !== "text") parts.push("text");
    },
    call: (id: string) => {
      parts.push({ call: id });
    },
    thought: (what: Json) => {
      parts.push({ thought: what });
    },
    /** Undefined when there were no thoughts to keep. */
    thoughts: (thinker: string): ModelThoughts | undefined =>
      parts.some((part) => typeof part === "object" && "thought" in part) ? { thinker, parts } : undefined,
  };
}
