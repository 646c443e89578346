import { parseByteSize } from "./byte-size.ts";
import type { SchemaNode } from "./keys.ts";
import { isTimeZone } from "./time-zone.ts";
import { isTree, type Tree } from "./tree.ts";

export type Accepted = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

const REJECTED: Accepted = { ok: false };
const accepted = (value: unknown): Accepted => ({ ok: true, value });

/**
 * Reads a tree by `schema.json`: defaults filled in, sizes as bytes. Only says yes or no; who wants to know why asks
 * zod, which has the last word. A property test holds the two together.
 */
export function accept(node: SchemaNode, value: unknown): Accepted {
  if (value === undefined) return absent(node);
  if (node.size === true && typeof value === "string") {
    const bytes = parseByteSize(value);
    return bytes === undefined ? REJECTED : accepted(bytes);
  }
  if (node.anyOf !== undefined) {
    for (const one of node.anyOf) {
      const result = accept(one, value);
      if (result.ok) return result;
    }
    return REJECTED;
  }
  switch (node.type) {
    case undefined:
      return accepted(value);
    case "null":
      return value === null ? accepted(null) : REJECTED;
    case "boolean":
      return typeof value === "boolean" ? accepted(value) : REJECTED;
    case "integer":
      return Number.isSafeInteger(value) && inBounds(node, value as number) ? accepted(value) : REJECTED;
    case "number":
      return Number.isFinite(value) && inBounds(node, value as number) ? accepted(value) : REJECTED;
    case "string":
      return typeof value === "string" && isText(node, value) ? accepted(value) : REJECTED;
    case "array":
      return Array.isArray(value) ? acceptList(node, value) : REJECTED;
    case "object":
      return isTree(value) ? acceptMap(node, value) : REJECTED;
    default:
      return REJECTED;
  }
}

/** A section that is missing has the defaults of its keys. */
function absent(node: SchemaNode): Accepted {
  if (node.properties !== undefined && "default" in node) return acceptMap(node, {});
  return accepted("default" in node ? structuredClone(node.default) : undefined);
}

function acceptList(node: SchemaNode, list: readonly unknown[]): Accepted {
  const results = list.map((item) => accept(node.items ?? {}, item ?? null));
  return results.every((result) => result.ok) ? accepted(results.map((result) => result.value)) : REJECTED;
}

function acceptMap(node: SchemaNode, map: Tree): Accepted {
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(map)) {
    const known = node.properties !== undefined && Object.hasOwn(node.properties, key);
    if (!known && !node.additionalProperties) return REJECTED;
    if (!known && node.propertyNames !== undefined && !isText(node.propertyNames, key)) return REJECTED;
    if (!known && map[key] === undefined) return REJECTED;
  }
  for (const key of new Set([...Object.keys(node.properties ?? {}), ...Object.keys(map)])) {
    const own = Object.hasOwn(map, key) ? map[key] : undefined;
    if (own === undefined && node.required?.includes(key)) return REJECTED;
    const inner = accept(node.properties?.[key] ?? (node.additionalProperties || {}), own);
    if (!inner.ok) return REJECTED;
    if (inner.value !== undefined) result[key] = inner.value;
  }
  return accepted(result);
}

function inBounds({ minimum, maximum, exclusiveMinimum }: SchemaNode, value: number): boolean {
  if (minimum !== undefined && value < minimum) return false;
  if (maximum !== undefined && value > maximum) return false;
  return exclusiveMinimum === undefined || value > exclusiveMinimum;
}

function isText(node: SchemaNode, value: string): boolean {
  if (node.enum !== undefined && !node.enum.includes(value)) return false;
  if (node.minLength !== undefined && value.length < node.minLength) return false;
  if (node.pattern !== undefined && !new RegExp(node.pattern).test(value)) return false;
  return node.timezone !== true || isTimeZone(value);
}
