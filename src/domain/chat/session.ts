import { estimateTokens } from "../models/model-facts.ts";

/** `YYYYMMDD-<channel>-<chatId>`; the second session of a day ends in `.2`. */
export function sessionIdOf(day: string, channel: string, chatId: string, ordinal = 1): string {
  return `${day}-${channel}-${chatId}${ordinal === 1 ? "" : `.${ordinal}`}`;
}

/** The longest beginning of a text that stays within so many tokens, never half a character. */
export function cutToTokens(text: string, limit: number): string {
  if (estimateTokens(text) <= limit) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (estimateTokens(text.slice(0, middle)) < limit) low = middle;
    else high = middle - 1;
  }
  return low === 0
    ? ""
    : `${text
        .slice(0, low)
        .toWellFormed()
        .replace(/\ufffd$/u, "")}…`;
}

const MOST_NAMES = 50;
const LONGEST_NAME = 60;
const LONGEST_VALUE = 1_000;

/** A session's memory with a name set, or forgotten by null. Null when it does not fit. */
export function changedMemory(
  memory: Readonly<Record<string, string>>,
  name: string,
  value: string | null,
): Readonly<Record<string, string>> | null {
  if (name === "" || name.length > LONGEST_NAME || (value?.length ?? 0) > LONGEST_VALUE) return null;
  const others = Object.entries(memory).filter(([known]) => known !== name);
  if (value === null) return Object.fromEntries(others);
  return others.length >= MOST_NAMES ? null : Object.fromEntries([...others, [name, value]]);
}

export function wordMemory(memory: Readonly<Record<string, string>>): string {
  const lines = Object.entries(memory).map(([name, value]) => `- ${name} = ${value}`);
  return lines.length === 0 ? "" : `Kept in mind for the user:\n${lines.join("\n")}`;
}

/** `name = value`, `name: value` or `name value`; the value is null if there is only a name. */
export function readMemoryLine(text: string): { readonly name: string; readonly value: string | null } {
  const found = /^([^\s=:：＝]+)(?:\s*[=:：＝]\s*|\s+)([\s\S]+)$/u.exec(text.trim());
  if (found === null) return { name: text.trim(), value: null };
  return { name: found[1] as string, value: (found[2] as string).trim() };
}
