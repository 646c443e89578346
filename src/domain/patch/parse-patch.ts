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

/** A model writes a twentieth of it. Most of a parser's work is done a line and a bracket. */
const MOST_SERVED = 50_000;
const [NEWLINE, OPEN_LIST, OPEN_OBJECT] = [0x0a, 0x5b, 0x7b];

/** For a server, whose other clients wait while it parses: why the patch is not parsed there; null if it may be. */
export function refuseLongPatch(text: string): ParseFailure | null {
  let lines = 0;
  let brackets = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === NEWLINE) lines += 1;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) brackets += 1;
    else continue;
    if (Math.max(lines, brackets) <= MOST_SERVED) continue;
    const what = lines > brackets ? "lines" : "brackets";
    return {
      code: "too-large",
      message: `patch has more than ${MOST_SERVED} ${what}, too many for a server: divide it, or run picoclaw apply`,
    };
  }
  return null;
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
