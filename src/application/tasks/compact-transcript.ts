import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import { shortenExchange } from "../models/shorten-exchange.ts";
import type { ModelMessage, ToolCall } from "../ports/models.ts";
import type { CommandFact } from "../ports/tasks.ts";
import { isShownFiles } from "./show-pointed.ts";

const KEPT_WHOLE = 12;
const OLD_RESULT_CHARS = 600;
const KEPT_AT_END = 6;
const KEPT_CHARS = 4000;
const COMMANDS_TOLD = 40;

/** Old tool results shrink to head and tail; the task itself and the latest exchanges stay. */
export function shortenTranscript(messages: readonly ModelMessage[]): ModelMessage[] {
  return shortenExchange(messages, {
    newest: KEPT_WHOLE,
    newChars: Number.POSITIVE_INFINITY,
    oldChars: OLD_RESULT_CHARS,
    role: "tool",
  });
}

/** Characters that a model is sent for these messages. */
export function transcriptSize(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + message.text.length + callsSize(message), 0);
}

function callsSize(message: ModelMessage): number {
  return message.role === "assistant" && message.toolCalls !== undefined
    ? JSON.stringify(message.toolCalls.map((call) => call.arguments)).length
    : 0;
}

/**
 * A conversation that does not fit into the model's window: the task as it was given without the files that it points to, what was done so far by its record, and
 * the latest exchanges, each cut. What the coder changed is in the project, not in the conversation.
 */
export function compactTranscript(
  whole: readonly ModelMessage[],
  commands: readonly CommandFact[],
): readonly ModelMessage[] {
  const messages = whole.filter((message) => !isShownFiles(message));
  const begun = messages.findIndex(({ role }) => role === "assistant");
  if (begun === -1) return messages;
  const from = messages.findIndex(
    ({ role }, i) => i >= Math.max(begun, messages.length - KEPT_AT_END) && role === "assistant",
  );
  const latest = from === -1 ? [] : messages.slice(from);
  const done = commands
    .slice(-COMMANDS_TOLD)
    .map(({ command, exitCode }) => `$ ${cutMiddle(command, 200)} → ${exitCode}`);
  const text = [
    "The conversation was too long for you and was cut here. Your changes are in the project: see `git status` and `git diff`.",
    ...(done.length === 0 ? [] : ["Commands so far, with their exit codes:", ...done]),
  ].join("\n");
  return [...messages.slice(0, begun), { role: "user", text }, ...latest.map(cutMessage)];
}

function cutMessage(message: ModelMessage): ModelMessage {
  const text = cutMiddle(message.text, KEPT_CHARS);
  if (message.role !== "assistant" || message.toolCalls === undefined) return { ...message, text };
  return { ...message, text, toolCalls: message.toolCalls.map(cutCall) };
}

function cutCall(call: ToolCall): ToolCall {
  const { arguments: given } = call;
  if (typeof given !== "object" || given === null) return call;
  const entries = Object.entries(given).map(([key, value]) => [
    key,
    typeof value === "string" ? cutMiddle(value, KEPT_CHARS) : value,
  ]);
  return { ...call, arguments: Object.fromEntries(entries) };
}
