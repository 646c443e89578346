import { jsonFailure, meaningOf, parseJsonText } from "./formats/json/json.ts";
import { parseReply } from "./formats/markdown/markdown.ts";
import type { ParseFailure, ParseResult } from "./parse-error.ts";
import { firstCharacter, LONGEST_PATCH, parseJsonPatch } from "./parse-json-patch.ts";

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
  const commands = parseJsonPatch(text);
  if (commands !== undefined) return commands;
  const unwrap = options.unwrap ? (patch: string) => parse(patch, { unwrap: false }) : undefined;
  const first = firstCharacter(text);
  if (first !== "[" && first !== "{") return parseReply(text, unwrap);

  const json = parseJsonText(text);
  if (json.ok) return readProposal(json.value, unwrap);
  // Not one JSON value: text after it, a Markdown link at the start, or broken. Only the last is an error here.
  const reply = parseReply(text, unwrap);
  if (reply.ok || reply.failure.code !== "not-a-patch") return reply;
  return first === "[" || /^\s*\{\s*"/.test(text.slice(0, 1000))
    ? failed(jsonFailure(text, json.at, json.reason))
    : reply;
}

function readProposal(value: unknown, unwrap: ((patch: string) => ParseResult) | undefined): ParseResult {
  const meaning = meaningOf(value);
  return meaning.kind === "proposal" && unwrap !== undefined
    ? unwrap(meaning.patch)
    : failed({ code: "not-a-patch", message: "unknown patch format" });
}

function failed(failure: ParseFailure): ParseResult {
  return { ok: false, failure };
}
