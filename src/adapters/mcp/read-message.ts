import { ErrorCode, type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { hasMoreMembers } from "../../domain/platform/json-members.ts";

/**
 * Finds the `id` of a message that cannot be parsed (too long, not UTF-8), so that its sender learns which request
 * failed. Reads bytes in pieces and remembers only where in the JSON it is: the depth, inside a string or not.
 */
export interface RequestIdScanner {
  push(bytes: Uint8Array): void;
  /** Null when there is none, or the text is not a JSON object so far. */
  id(): string | number | null;
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
/** Longer ids and keys are nobody's. */
const LONGEST = 256;

export function createRequestIdScanner(): RequestIdScanner {
  let depth = 0;
  let inString = false;
  let escaped = false;
  /** The top-level text since the last comma: a key, a colon, a short value. */
  let text: number[] = [];
  let isId = false;
  let found: string | number | null = null;

  function keep(byte: number): void {
    if (depth === 1 && text.length <= LONGEST) text.push(byte);
  }

  function endMember(): void {
    if (isId) found = idOf(text);
    isId = false;
    text = [];
  }

  function structural(byte: number): void {
    if (OPENING.has(byte)) {
      depth += 1;
      return;
    }
    if (CLOSING.has(byte)) {
      if (depth === 1) endMember();
      depth -= 1;
      return;
    }
    if (depth !== 1) return;
    if (byte === COLON) {
      isId = Buffer.from(text).toString().trim() === '"id"';
      text = [];
    } else if (byte === COMMA) endMember();
    else keep(byte);
  }

  return {
    push(bytes) {
      for (let at = 0; at < bytes.length; at += 1) {
        const byte = bytes[at] as number;
        if (!inString) {
          if (byte === QUOTE) {
            inString = true;
            keep(byte);
          } else structural(byte);
          continue;
        }
        keep(byte);
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
      }
    },
    id: () => found,
  };
}

function idOf(text: readonly number[]): string | number | null {
  if (text.length > LONGEST) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(text).toString());
    return typeof value === "string" || (typeof value === "number" && Number.isInteger(value)) ? value : null;
  } catch {
    return null;
  }
}

/** A patch is one text; an object of a million keys would hold up everybody else while it is read. */
const MOST_MEMBERS = 100_000;
/** Above what tools take, as JSON may write it: escapes and multi-byte characters included. */
export const MESSAGE_BYTES = 64 * 1024 ** 2;

export interface BadMessage {
  readonly code: ErrorCode;
  readonly message: string;
  readonly id: string | number | null;
}

export type ReadMessage =
  | { readonly ok: true; readonly message: JSONRPCMessage }
  | { readonly ok: false; readonly bad: BadMessage };

/** Bytes that are no UTF-8 are refused: repaired silently, they would be written into somebody's file. */
export function parseJson(
  bytes: Uint8Array,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly bad: BadMessage } {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const scanner = createRequestIdScanner();
    scanner.push(bytes);
    return refuse(ErrorCode.ParseError, "Parse error: the message is not UTF-8", scanner.id());
  }
  if (hasMoreMembers(text, MOST_MEMBERS))
    return refuse(ErrorCode.InvalidRequest, `the message has more than ${MOST_MEMBERS} values`, null);
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return refuse(ErrorCode.ParseError, "Parse error: the message is not JSON", null);
  }
}

export function readMessage(bytes: Uint8Array): ReadMessage {
  const parsed = parseJson(bytes);
  if (!parsed.ok) return parsed;
  const message = JSONRPCMessageSchema.safeParse(parsed.value);
  if (message.success) return { ok: true, message: message.data };
  return refuse(
    ErrorCode.InvalidRequest,
    "Invalid Request: the message is not JSON-RPC 2.0",
    idIn(parsed.value),
  );
}

export function tooLong(limitBytes: number, id: string | number | null): BadMessage {
  const text = `Invalid Request: the message is longer than ${limitBytes} bytes`;
  return { code: ErrorCode.InvalidRequest, message: text, id };
}

/** The JSON-RPC response to an unreadable message; the id is null if there is none. */
export function toErrorResponse({ code, message, id }: BadMessage) {
  return { jsonrpc: "2.0" as const, id, error: { code, message } };
}

function refuse(code: ErrorCode, message: string, id: string | number | null) {
  return { ok: false as const, bad: { code, message, id } };
}

function idIn(value: unknown): string | number | null {
  const id = typeof value === "object" && value !== null && "id" in value ? value.id : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
