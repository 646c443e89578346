import { parseReply } from "./formats/markdown/markdown.ts";
import { cleanPath, headerFileName } from "./formats/unified-diff/diff-file-names.ts";
import {
  type JsonTry,
  jsonFailure,
  jsonMeaning,
  LONGEST_PATCH,
  type ParseFailure,
  type ParseResult,
  tryJsonPatch,
} from "./patch-command.ts";

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

/**
 * The same for a coder's answer: a path above a fence names its file, and `skipped` lists what is not carried out. `asked`:
 * the files that the request is about; the only block in the language of one of them is that file.
 */
export function parseAnswer(text: string, asked: readonly string[] = []): ParseResult {
  return parseText(tryJsonPatch(text), { unwrap: true, asked });
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

function parseText(
  { text, result, json }: JsonTry,
  { unwrap: mayUnwrap, asked }: { readonly unwrap: boolean; readonly asked?: readonly string[] | undefined },
): ParseResult {
  if (text.length > LONGEST_PATCH)
    return parseFailed({ code: "too-large", message: `patch is larger than ${LONGEST_PATCH} characters` });
  if (result !== undefined) return result;
  const unwrap = mayUnwrap
    ? (patch: string) => parseText(tryJsonPatch(patch), { unwrap: false, asked })
    : undefined;
  if (json === undefined) return parseReply(text, unwrap, asked);
  if (json.ok) return readProposal(json.value, unwrap);
  // Not one JSON value: text after it, a Markdown link at the start, or broken. Only the last is an error here.
  const reply = parseReply(text, unwrap, asked);
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

/** The lines that a patch removes, or inserts before, by path, in the numbers of the files as they were. */
export type ChangedLines = ReadonlyMap<string, ReadonlySet<number>>;

/** Lines around a comment within which a change counts as one at the comment. */
const NEAR = 3;

/** Of a patch as git writes it. Files without text have no lines. */
export function changedLines(patch: Uint8Array): ChangedLines {
  const text = Buffer.from(patch.buffer, patch.byteOffset, patch.byteLength).toString("latin1");
  const found = new Map<string, Set<number>>();
  let lines: Set<number> | undefined;
  let [old, oldLeft, newLeft] = [0, 0, 0];
  for (const line of text.split("\n")) {
    if (oldLeft > 0 || newLeft > 0) {
      // Within a hunk no line is a header, even if it looks like one.
      if (line.startsWith("\\")) continue;
      if (!line.startsWith(" ")) lines?.add(old);
      if (!line.startsWith("-")) newLeft--;
      if (line.startsWith("+")) continue;
      oldLeft--;
      old++;
      continue;
    }
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk !== null) {
      [oldLeft, newLeft] = [Number(hunk[2] ?? 1), Number(hunk[3] ?? 1)];
      // Of a hunk without old lines, the number is that of the line before.
      old = Number(hunk[1]) + (oldLeft === 0 ? 1 : 0);
    } else if (line.startsWith("--- a/") || line.startsWith('--- "a/')) {
      lines = new Set();
      found.set(cleanPath(headerFileName(line.slice(4)).slice(2)), lines);
    } else if (line.startsWith("diff --git ")) lines = undefined;
  }
  return found;
}

export function isChangedNear(changed: ChangedLines, path: string, line: number): boolean {
  const lines = changed.get(path);
  for (let at = line - NEAR; lines !== undefined && at <= line + NEAR; at++) if (lines.has(at)) return true;
  return false;
}
