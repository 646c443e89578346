import { type JsonTry, jsonFailure, jsonMeaning, LONGEST_PATCH, tryJsonPatch } from "./formats/json.ts";
import { parseReply } from "./formats/markdown/markdown.ts";
import type { ParseFailure, ParseResult } from "./patch-command.ts";

/**
 * Turns the text of a patch into commands, in the order of the text.
 *
 * Accepts a JSON array of commands, Markdown code blocks, a unified diff, a V4A patch, SEARCH/REPLACE blocks, each
 * also amid prose or in a fence, a reply that mixes them, and a coder's whole JSON answer with its `patch` field.
 * White space is a patch of no commands. Never throws; time and memory are linear in the text.
 */
export function parsePatch(text: string): ParseResult {
  return parseAfterJson(tryJsonPatch(text));
}

/** For a caller that has tried JSON itself. */
export function parseAfterJson(tried: JsonTry): ParseResult {
  return parseText(tried, { unwrap: true });
}

function parseText({ text, result, json }: JsonTry, options: { readonly unwrap: boolean }): ParseResult {
  if (text.length > LONGEST_PATCH)
    return parseFailed({ code: "too-large", message: `patch is larger than ${LONGEST_PATCH} characters` });
  if (result !== undefined) return result;
  const unwrap = options.unwrap
    ? (patch: string) => parseText(tryJsonPatch(patch), { unwrap: false })
    : undefined;
  if (json === undefined) return parseReply(text, unwrap);
  if (json.ok) return readProposal(json.value, unwrap);
  // Not one JSON value: text after it, a Markdown link at the start, or broken. Only the last is an error here.
  const reply = parseReply(text, unwrap);
  if (reply.ok || reply.failure.code !== "not-a-patch") return reply;
  return /^\s*(?:\[|\{\s*")/.test(text.slice(0, 1000))
    ? parseFailed(jsonFailure(text, json.at, json.reason))
    : reply;
}

function readProposal(value: unknown, unwrap: ((patch: string) => ParseResult) | undefined): ParseResult {
  const meaning = jsonMeaning(value);
  return meaning.kind === "proposal" && unwrap !== undefined
    ? unwrap(meaning.patch)
    : parseFailed({ code: "not-a-patch", message: "unknown patch format" });
}

function parseFailed(failure: ParseFailure): ParseResult {
  return { ok: false, failure };
}
