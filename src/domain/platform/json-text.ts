/** Where one JSON value ends, or stops being JSON, which the runtime's own error does not say. One pass, no recursion. */
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

/** The first JSON object in a model's answer that `wanted` accepts: bare, in a fence, or in prose. Scans no text twice. */
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

/** In JSON they are within strings alone. A terminal obeys C1, and the others turn or hide the text beside them. */
const UNSEEN = /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** The same JSON with escapes for characters that steer what shows it: read again, it is the same value. */
export function escapeUnseen(json: string): string {
  return json.replace(UNSEEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A value as JSON that leaves the process: it may be shown by a terminal or a page. */
export function toShownJson(value: unknown, indent?: number): string {
  return escapeUnseen(JSON.stringify(value, null, indent));
}
