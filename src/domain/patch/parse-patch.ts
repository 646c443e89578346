import { jsonFailure, meaningOf, parseJsonText, readCommands } from "./formats/json.ts";
import { parseReply } from "./formats/markdown.ts";
import type { ParseFailure, ParseResult } from "./parse-error.ts";

/** Characters. Far above what a model writes, and still parsed in memory. */
const LONGEST_PATCH = 64 * 1024 * 1024;

/**
 * Turns the text of a patch into commands, in the order of the text.
 *
 * Accepts a JSON array of commands, Markdown code blocks, a unified diff, a V4A patch, SEARCH/REPLACE blocks, each
 * also amid prose or in a fence, a reply that mixes them, and a coder's whole JSON answer with its `patch` field.
 * White space is a patch of no commands. Never throws; time and memory are linear in the text.
 */
export function parsePatch(text: string): ParseResult {
  return parse(text, { unwrap: true });
}

function parse(source: string, options: { readonly unwrap: boolean }): ParseResult {
  if (source.length > LONGEST_PATCH)
    return failed({ code: "too-large", message: `patch is larger than ${LONGEST_PATCH} characters` });
  const text = source.startsWith("\uFEFF") ? source.slice(1) : source;
  const first = firstCharacter(text);
  if (first === undefined) return { ok: true, commands: [], warnings: [], format: "empty" };
  const unwrap = options.unwrap ? (patch: string) => parse(patch, { unwrap: false }) : undefined;
  if (first !== "[" && first !== "{") return parseReply(text, unwrap);

  const json = parseJsonText(text);
  if (json.ok) return readWhole(json.value, unwrap) ?? notAPatch();
  // Not one JSON value: text after it, a Markdown link at the start, or broken. Only the last is an error here.
  const reply = parseReply(text, unwrap);
  if (reply.ok || reply.failure.code !== "not-a-patch") return reply;
  return first === "[" || /^\s*\{\s*"/.test(text.slice(0, 1000))
    ? failed(jsonFailure(text, json.at, json.reason))
    : reply;
}

/** A text that is JSON from end to end: an array is commands whatever it holds, so that its mistakes are named. */
function readWhole(
  value: unknown,
  unwrap: ((patch: string) => ParseResult) | undefined,
): ParseResult | undefined {
  const meaning = Array.isArray(value) ? { kind: "commands" as const, items: value } : meaningOf(value);
  if (meaning.kind === "other" || (meaning.kind === "proposal" && unwrap === undefined)) return undefined;
  if (meaning.kind === "proposal") return unwrap?.(meaning.patch);
  const read = readCommands(meaning.items, 0);
  return read.ok ? { ...read, format: "json" } : read;
}

function firstCharacter(text: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char.trim() !== "") return char;
  }
  return undefined;
}

function notAPatch(): ParseResult {
  return failed({ code: "not-a-patch", message: "unknown patch format" });
}

function failed(failure: ParseFailure): ParseResult {
  return { ok: false, failure };
}
