import { type JsonText, jsonMeaning, parseJsonText, readCommands } from "./json.ts";
import type { ParseResult } from "../parse-error.ts";

/** Characters. Far above what a model writes, and still parsed in memory. */
export const LONGEST_PATCH = 64 * 1024 * 1024;

/** What became of reading a patch as JSON. */
export interface JsonTry {
  /** The text without its byte order mark. */
  readonly text: string;
  /** Set when the text is JSON commands from end to end, or nothing but white space. */
  readonly result?: ParseResult;
  /** Set when the text begins like JSON and is no such patch. */
  readonly json?: JsonText;
}

/**
 * Reads a patch as JSON commands, once. `parsePatch` goes on with every other text. It stands apart so that a job of
 * JSON commands needs no other format to be loaded.
 */
export function tryJsonPatch(source: string): JsonTry {
  const text = source.startsWith("\uFEFF") ? source.slice(1) : source;
  if (text.length > LONGEST_PATCH) return { text };
  const first = firstCharacter(text);
  if (first === undefined) return { text, result: { ok: true, commands: [], warnings: [], format: "empty" } };
  if (first !== "[" && first !== "{") return { text };
  const json = parseJsonText(text);
  if (!json.ok) return { text, json };
  // An array is commands whatever it holds, so that its mistakes are named.
  const meaning = Array.isArray(json.value)
    ? { kind: "commands" as const, items: json.value }
    : jsonMeaning(json.value);
  if (meaning.kind !== "commands") return { text, json };
  const read = readCommands(meaning.items, 0);
  return { text, result: read.ok ? { ...read, format: "json" } : read };
}

function firstCharacter(text: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char.trim() !== "") return char;
  }
  return undefined;
}
