import type { ModelMessage } from "../ports/models.ts";

/** Shorter ones stand in ordinary text. */
const SHORTEST = 8;
const HIDDEN = "***";

/**
 * A message of the conversation as it is kept on disk: without secrets of the configuration, also where the model put one into a
 * call. Only what is known goes: a model that reads its own code must find it as it wrote it. Its thoughts are its provider's.
 */
export function withoutSecrets(message: ModelMessage, secrets: readonly string[]): ModelMessage {
  const known = secrets.filter(({ length }) => length >= SHORTEST);
  const hide = (text: string) => known.reduce((all, secret) => all.replaceAll(secret, HIDDEN), text);
  const text = hide(message.text);
  if (message.role !== "assistant" || message.toolCalls === undefined) return { ...message, text };
  const toolCalls = message.toolCalls.map((call) => ({ ...call, arguments: inside(call.arguments, hide) }));
  return { ...message, text, toolCalls };
}

function inside(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === "string") return hide(value);
  if (Array.isArray(value)) return value.map((one) => inside(one, hide));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inside(one, hide)]));
}
