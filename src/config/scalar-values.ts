import { attemptOr } from "../domain/platform/error-text.ts";
import { isJsonObject, ownMember } from "../domain/platform/json-members.ts";
import type { SchemaNode } from "./keys.ts";

const SIZE = /^(\d+(?:\.\d+)?)\s*(B|[KMGT]B|[KMGT]iB|[kmgtKMGT])?$/;
const POWERS = "KMGT";

/** `2GiB`, `500MB`, `4g`, `1048576` → bytes; undefined if it is not a size. */
export function parseByteSize(text: string): number | undefined {
  const match = SIZE.exec(text.trim());
  if (match === null) return undefined;
  const unit = match[2] ?? "B";
  const power = unit === "B" ? 0 : POWERS.indexOf(unit.charAt(0).toUpperCase()) + 1;
  const base = /^[KMGT]B$/.test(unit) ? 1000 : 1024;
  const bytes = Math.floor(Number(match[1]) * base ** power);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

const WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  "1": true,
  yes: true,
  on: true,
  false: false,
  "0": false,
  no: false,
  off: false,
};

/**
 * A variable's text as its key's value; undefined when it cannot be one. Its range is the schema's to check. `null` means null where
 * the key takes it; a list is JSON or parts divided by commas; a map is JSON.
 */
export function coerceText(text: string, node: SchemaNode): unknown {
  if (node.anyOf !== undefined) {
    if (text === "null" && node.anyOf.some((one) => one.type === "null")) return null;
    for (const one of node.anyOf.filter((each) => each.type !== "null")) {
      const value = coerceText(text, one);
      if (value !== undefined) return value;
    }
    return undefined;
  }
  switch (node.type) {
    case "boolean":
      return ownMember(WORDS, text.trim().toLowerCase());
    case "integer":
    case "number":
      return numberOf(text, node.type === "integer");
    case "array":
      return text.trimStart().startsWith("[") ? parseJsonSetting(text, Array.isArray) : listOf(text);
    case "object":
      return parseJsonSetting(text, isJsonObject);
    default:
      return text;
  }
}

function numberOf(text: string, integer: boolean): number | undefined {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) return undefined;
  return integer && !Number.isInteger(value) ? undefined : value;
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function parseJsonSetting(text: string, accepts: (value: unknown) => boolean): unknown {
  return attemptOr(undefined, () => {
    const value: unknown = JSON.parse(text);
    return accepts(value) ? value : undefined;
  });
}
