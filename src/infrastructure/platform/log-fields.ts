import type { LogFields } from "../../application/ports/logger.ts";
import { isSecretField } from "../../domain/platform/secret-name.ts";

/** Names that every line has; a field so called gets a `_` behind it. */
const RESERVED = new Set(["level", "time", "component", "event", "msg", "pid", "hostname"]);
const DEEPEST = 8;
const LONGEST_TEXT = 64 * 1024;
const KEPT_TAIL = 16 * 1024;

export type Mask = (text: string) => string;

/** Fields as plain data: masked, without cycles, errors with their causes, bytes as their number, long texts cut. */
export function logFields(fields: LogFields | undefined, mask: Mask): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields ?? {})) {
    const name = RESERVED.has(key) ? `${key}_` : key;
    const plain = plainValue(value, key, { mask, seen: [] });
    if (plain !== undefined) result[name] = plain;
  }
  return result;
}

interface Walk {
  readonly mask: Mask;
  readonly seen: readonly object[];
}

function plainValue(value: unknown, key: string, walk: Walk): unknown {
  switch (typeof value) {
    case "string":
      return value !== "" && isSecretField(key) ? "****" : cutText(walk.mask(value));
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return value.toString();
    case "boolean":
      return value;
    case "object":
      return value === null ? null : plainObject(value, walk);
    default:
      return undefined;
  }
}

function plainObject(value: object, walk: Walk): unknown {
  if (walk.seen.includes(value)) return "[circular]";
  if (walk.seen.length >= DEEPEST) return "[deeper]";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  const below: Walk = { mask: walk.mask, seen: [...walk.seen, value] };
  if (Array.isArray(value)) return value.map((item) => plainValue(item, "", below) ?? null);
  const entries = value instanceof Error ? errorEntries(value) : Object.entries(value);
  const result: Record<string, unknown> = {};
  for (const [key, inner] of entries) {
    const plain = plainValue(inner, key, below);
    if (plain !== undefined) result[key] = plain;
  }
  return result;
}

function errorEntries(error: Error): [string, unknown][] {
  const { name, message, stack, cause } = error;
  return [["type", name], ["message", message], ["stack", stack], ["cause", cause], ...Object.entries(error)];
}

function cutText(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  const head = text.slice(0, LONGEST_TEXT - KEPT_TAIL);
  return `${head}\n… [${text.length - LONGEST_TEXT} characters cut] …\n${text.slice(-KEPT_TAIL)}`;
}
