import { meaningOf, parseJsonText, readCommands } from "./formats/json/json.ts";
import type { ParseResult } from "./parse-error.ts";

/** Characters. Far above what a model writes, and still parsed in memory. */
export const LONGEST_PATCH = 64 * 1024 * 1024;

/**
 * A patch that is JSON commands from end to end, or nothing but white space. Undefined for every other text, which
 * `parsePatch` reads. It stands apart so that a job of JSON commands needs no other format to be loaded.
 */
export function parseJsonPatch(text: string): ParseResult | undefined {
  if (text.length > LONGEST_PATCH) return undefined;
  const first = firstCharacter(text);
  if (first === undefined) return { ok: true, commands: [], warnings: [], format: "empty" };
  if (first !== "[" && first !== "{") return undefined;
  const json = parseJsonText(text);
  if (!json.ok) return undefined;
  // An array is commands whatever it holds, so that its mistakes are named.
  const meaning = Array.isArray(json.value)
    ? { kind: "commands" as const, items: json.value }
    : meaningOf(json.value);
  if (meaning.kind !== "commands") return undefined;
  const read = readCommands(meaning.items, 0);
  return read.ok ? { ...read, format: "json" } : read;
}

export function firstCharacter(text: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char.trim() !== "") return char;
  }
  return undefined;
}
