import { ErrorCode, type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { createRequestIdScanner } from "../../domain/platform/json-lines.ts";
import { hasMoreMembers } from "../../domain/platform/json-members.ts";

/** A patch is one text. Reading an object of a million keys would block all other clients. */
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

/** Bytes that are not UTF-8 are refused: repaired silently, they would be written into a file of the user. */
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
