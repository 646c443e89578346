import { isJsonObject } from "../../platform/json-members.ts";
import type { ParseFailure, ParseResult, PatchCommand } from "../patch-command.ts";

/**
 * Finds where one JSON value ends, or where it stops being JSON. One pass, no recursion.
 * `JSON.parse` builds the value; this only says where, which the runtime's own error does not.
 */
export type JsonExtent =
  | { readonly ok: true; readonly end: number }
  | { readonly ok: false; readonly at: number; readonly reason: string };

/** A command array needs three levels. Anything near this is an attack or a mistake. */
const MAX_DEPTH = 1000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;

type ExpectedToken = "value" | "value-or-end" | "key" | "key-or-end" | "colon" | "comma-or-end";

export function scanJson(text: string, from: number): JsonExtent {
  const stack: number[] = [];
  let expected: ExpectedToken = "value";
  let at = from;
  for (;;) {
    at = skipJsonSpace(text, at);
    if (at >= text.length) return { ok: false, at: text.length, reason: "unexpected end of text" };
    const code = text.charCodeAt(at);
    const closes = code === CLOSE_ARRAY || code === CLOSE_OBJECT;
    if (closes && mayClose(expected, code, stack.at(-1))) {
      stack.pop();
      at += 1;
    } else if (expected === "colon") {
      if (code !== COLON) return unexpectedToken(text, at);
      expected = "value";
      at += 1;
      continue;
    } else if (expected === "comma-or-end") {
      if (code !== COMMA) return unexpectedToken(text, at);
      expected = stack.at(-1) === OPEN_OBJECT ? "key" : "value";
      at += 1;
      continue;
    } else if (expected === "key" || expected === "key-or-end") {
      if (code !== QUOTE) return unexpectedToken(text, at);
      const key = scanString(text, at);
      if (!key.ok) return key;
      at = key.end;
      expected = "colon";
      continue;
    } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (stack.length === MAX_DEPTH)
        return { ok: false, at, reason: `nested deeper than ${MAX_DEPTH} levels` };
      stack.push(code);
      expected = code === OPEN_ARRAY ? "value-or-end" : "key-or-end";
      at += 1;
      continue;
    } else {
      const scalar = code === QUOTE ? scanString(text, at) : scanWord(text, at);
      if (!scalar.ok) return scalar;
      at = scalar.end;
    }
    if (stack.length === 0) return { ok: true, end: at };
    expected = "comma-or-end";
  }
}

export function skipJsonSpace(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
  }
  return at;
}

function mayClose(expected: ExpectedToken, code: number, open: number | undefined): boolean {
  if (code === CLOSE_ARRAY)
    return open === OPEN_ARRAY && (expected === "value-or-end" || expected === "comma-or-end");
  return open === OPEN_OBJECT && (expected === "key-or-end" || expected === "comma-or-end");
}

function scanString(text: string, from: number): JsonExtent {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return { ok: true, end: at + 1 };
    if (code < 0x20) return { ok: false, at, reason: "control character in a string (a line end is \\n)" };
    if (code !== BACKSLASH) continue;
    const escaped = text.charAt(at + 1);
    if (escaped === "u") {
      for (let digit = at + 2; digit < at + 6; digit++)
        if (!isHex(text.charCodeAt(digit))) return { ok: false, at, reason: "bad \\u escape" };
      at += 5;
    } else if (escaped !== "" && '"\\/bfnrt'.includes(escaped)) at += 1;
    else return { ok: false, at, reason: `bad escape \\${escaped}` };
  }
  return { ok: false, at: text.length, reason: "unterminated string" };
}

function isHex(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const LONGEST_WORD = 400;

function scanWord(text: string, from: number): JsonExtent {
  let end = from;
  while (end < text.length && end - from < LONGEST_WORD && isWordCode(text.charCodeAt(end))) end++;
  const word = text.slice(from, end);
  if (word === "true" || word === "false" || word === "null" || NUMBER.test(word)) return { ok: true, end };
  return unexpectedToken(text, from);
}

function isWordCode(code: number): boolean {
  const letter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
  return letter || (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2d || code === 0x2e;
}

function unexpectedToken(text: string, at: number): JsonExtent {
  const found = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return { ok: false, at, reason: `unexpected character ${JSON.stringify(found)}` };
}

/** The meaning of a JSON value as a patch. */
export type JsonMeaning =
  | { readonly kind: "commands"; readonly items: readonly unknown[] }
  /** A coder's whole answer, `{plan, patch, risk, …}`: the patch is in there as text. */
  | { readonly kind: "proposal"; readonly patch: string }
  | { readonly kind: "other" };

/** In prose or among other blocks: only what names a command's fields counts. */
export function jsonMeaning(value: unknown): JsonMeaning {
  if (Array.isArray(value)) {
    const [first] = value;
    return value.length === 0 || isCommandLike(first)
      ? { kind: "commands", items: value }
      : { kind: "other" };
  }
  if (!isJsonObject(value)) return { kind: "other" };
  if (!isCommandLike(value) && Object.hasOwn(value, "patch")) {
    if (typeof value.patch === "string") return { kind: "proposal", patch: value.patch };
    if (Array.isArray(value.patch)) return { kind: "commands", items: value.patch };
  }
  return isCommandLike(value) ? { kind: "commands", items: [value] } : { kind: "other" };
}

function isCommandLike(value: unknown): boolean {
  return isJsonObject(value) && (Object.hasOwn(value, "type") || Object.hasOwn(value, "action"));
}

export interface JsonCommands {
  readonly commands: readonly PatchCommand[];
  readonly warnings: readonly string[];
}

/** `firstIndex` is how many commands precede these in the patch, so that messages count over the whole. */
export function readCommands(
  items: readonly unknown[],
  firstIndex: number,
): ({ readonly ok: true } & JsonCommands) | { readonly ok: false; readonly failure: ParseFailure } {
  const commands: PatchCommand[] = [];
  const warnings: string[] = [];
  for (const item of items) {
    const index = firstIndex + commands.length;
    const read = readCommand(item, index);
    if (!read.ok) return read;
    commands.push(read.command);
    if (read.ignored.length > 0)
      warnings.push(
        `command[${index}]: unknown key ignored: ${read.ignored.slice(0, 10).join(", ").slice(0, 200)}`,
      );
  }
  return { ok: true, commands, warnings };
}

export type JsonText =
  | { readonly ok: true; readonly value: unknown }
  /** `at` is an offset into the text given. */
  | { readonly ok: false; readonly at: number; readonly reason: string };

/** `JSON.parse` with a position when it fails. The whole text must be one value. */
export function parseJsonText(text: string): JsonText {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    const extent = scanJson(text, 0);
    if (!extent.ok) return extent;
    if (extent.end < text.length)
      return { ok: false, at: extent.end, reason: "text after the end of the value" };
    return { ok: false, at: 0, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The failure for text that is not JSON from offset `at` on. */
export function jsonFailure(text: string, at: number, reason: string): ParseFailure {
  const lineStart = text.lastIndexOf("\n", at - 1) + 1;
  let line = 1;
  for (let end = text.indexOf("\n"); end !== -1 && end < at; end = text.indexOf("\n", end + 1)) line++;
  const column = at - (at === 0 ? 0 : lineStart) + 1;
  return {
    code: "invalid-json",
    message: `JSON parse error: ${reason} at line ${line}, column ${column}`,
    line,
  };
}

type CommandRead =
  | { readonly ok: true; readonly command: PatchCommand; readonly ignored: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

const COMMAND_FIELDS = new Set([
  "type",
  "action",
  "target",
  "content",
  "metadata",
  "env",
  "workdir",
  "shell",
]);

/**
 * Reads one command of a JSON patch. `type` and `action` may name things that do not exist: those fail when
 * they are run. `null` counts as absent. Keys that mean nothing are returned in `ignored`.
 */
function readCommand(value: unknown, index: number): CommandRead {
  if (!isJsonObject(value))
    return refuseCommand(
      index,
      undefined,
      value,
      `command[${index}]: must be an object, got ${describeValue(value)}`,
    );
  const own = (field: string): unknown =>
    Object.hasOwn(value, field) ? (value[field] ?? undefined) : undefined;

  for (const field of ["type", "action", "target", "content", "workdir", "shell"]) {
    const found = own(field);
    if (found !== undefined && typeof found !== "string")
      return refuseCommand(
        index,
        field,
        found,
        `command[${index}]: ${field} must be a string, got ${describeValue(found)}`,
      );
  }
  const text = (field: string): string => (own(field) as string | undefined) ?? "";
  const type = text("type");
  const action = text("action");
  const target = text("target");
  if (type === "") return requiredField(index, "type");
  if (action === "") return requiredField(index, "action");
  if (target === "" && !(type === "git_operation" && action === "commit"))
    return requiredField(index, "target");

  const metadata = readStrings(own("metadata"), index, "metadata");
  if (!metadata.ok) return metadata;
  const env = readStrings(own("env"), index, "env");
  if (!env.ok) return env;

  return {
    ok: true,
    command: {
      type,
      action,
      target,
      content: text("content"),
      ...(metadata.strings && { metadata: metadata.strings }),
      ...(env.strings && { env: env.strings }),
      ...(text("workdir") !== "" && { workdir: text("workdir") }),
      ...(text("shell") !== "" && { shell: text("shell") }),
    },
    ignored: Object.keys(value).filter((key) => !COMMAND_FIELDS.has(key)),
  };
}

type StringsRead =
  | { readonly ok: true; readonly strings: Readonly<Record<string, string>> | undefined }
  | { readonly ok: false; readonly failure: ParseFailure };

function readStrings(value: unknown, index: number, field: string): StringsRead {
  if (value === undefined) return { ok: true, strings: undefined };
  if (!isJsonObject(value))
    return refuseCommand(
      index,
      field,
      value,
      `command[${index}]: ${field} must be an object, got ${describeValue(value)}`,
    );
  const strings: [string, string][] = [];
  for (const [key, entry] of Object.entries(value)) {
    if (typeof entry !== "string") {
      const name = `${field}.${key}`;
      return refuseCommand(
        index,
        name,
        entry,
        `command[${index}]: ${name} must be a string, got ${describeValue(entry)}`,
      );
    }
    strings.push([key, entry]);
  }
  // fromEntries defines own properties, so a key named __proto__ stays a key.
  return { ok: true, strings: Object.fromEntries(strings) };
}

function requiredField(index: number, field: string): { ok: false; failure: ParseFailure } {
  return {
    ok: false,
    failure: { code: "invalid-command", message: `command[${index}]: ${field} is required`, index, field },
  };
}

function refuseCommand(index: number, field: string | undefined, value: unknown, message: string) {
  const failure: ParseFailure = {
    code: "invalid-command",
    message,
    index,
    ...(field !== undefined && { field }),
    value: preview(value),
  };
  return { ok: false, failure } as const;
}

function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return `${typeof value} ${preview(value)}`;
}

/** Short, and safe for a value nested a million deep: containers are not printed. */
function preview(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  if (Array.isArray(value)) return "[…]";
  return typeof value === "object" && value !== null ? "{…}" : String(value);
}

/** Characters. Far above what a model writes, and still parsed in memory. */
export const LONGEST_PATCH = 64 * 1024 * 1024;

/** The result of reading a patch as JSON. */
export interface JsonTry {
  /** The text without its byte order mark. */
  readonly text: string;
  /** Set when the text is JSON commands from end to end, or nothing but white space. */
  readonly result?: ParseResult;
  /** Set if the text begins like JSON but is not such a patch. */
  readonly json?: JsonText;
}

/**
 * Reads a patch as JSON commands, once. `parsePatch` continues with every other text. It is separate so that a job of
 * JSON commands loads no other format.
 */
export function tryJsonPatch(source: string): JsonTry {
  const text = source.startsWith("\uFEFF") ? source.slice(1) : source;
  if (text.length > LONGEST_PATCH) return { text };
  const first = firstCharacter(text);
  if (first === undefined) return { text, result: { ok: true, commands: [], warnings: [], format: "empty" } };
  if (first !== "[" && first !== "{") return { text };
  const json = parseJsonText(text);
  if (!json.ok) return { text, json };
  // Every array is read as commands, so that its mistakes are named.
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

/**
 * The first JSON object in a model's answer that `wanted` accepts: bare, in a fence, or with prose around it; undefined
 * when there is none. Scanned text is not scanned again, so that a text of only braces stays linear.
 */
export function jsonInAnswer(
  text: string,
  wanted: (value: Readonly<Record<string, unknown>>) => boolean = () => true,
): Readonly<Record<string, unknown>> | undefined {
  for (let from = text.indexOf("{"); from >= 0; ) {
    const extent = scanJson(text, from);
    if (extent.ok) {
      const value = JSON.parse(text.slice(from, extent.end)) as Record<string, unknown>;
      if (wanted(value)) return value;
    }
    from = text.indexOf("{", Math.max(extent.ok ? extent.end : extent.at, from + 1));
  }
  return undefined;
}
