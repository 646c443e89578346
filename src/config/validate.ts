import type { ConfigProblem } from "../domain/config/config-problem.ts";
import { isNetworkEntry } from "../domain/policy/network.ts";
import type { Config } from "./config.ts";
import { invalidValue, type Origin, type SchemaNode } from "./keys.ts";
import { isTimeZone, parseByteSize } from "./scalar-values.ts";
import { isTree, type Tree } from "./tree.ts";

export type AcceptResult = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

const REJECTED: AcceptResult = { ok: false };
const acceptedValue = (value: unknown): AcceptResult => ({ ok: true, value });

/**
 * Reads a tree by `schema.json`: defaults filled in, sizes as bytes. Only says yes or no; who wants to know why asks
 * zod, which has the last word. A property test holds the two together.
 */
export function acceptTree(node: SchemaNode, value: unknown): AcceptResult {
  if (value === undefined) return acceptAbsent(node);
  if (node.size === true && typeof value === "string") {
    const bytes = parseByteSize(value);
    return bytes === undefined ? REJECTED : acceptedValue(bytes);
  }
  if (node.anyOf !== undefined) {
    for (const one of node.anyOf) {
      const result = acceptTree(one, value);
      if (result.ok) return result;
    }
    return REJECTED;
  }
  switch (node.type) {
    case undefined:
      return acceptedValue(value);
    case "null":
      return value === null ? acceptedValue(null) : REJECTED;
    case "boolean":
      return typeof value === "boolean" ? acceptedValue(value) : REJECTED;
    case "integer":
      return Number.isSafeInteger(value) && inBounds(node, value as number) ? acceptedValue(value) : REJECTED;
    case "number":
      return Number.isFinite(value) && inBounds(node, value as number) ? acceptedValue(value) : REJECTED;
    case "string":
      return typeof value === "string" && isText(node, value) ? acceptedValue(value) : REJECTED;
    case "array":
      return Array.isArray(value) ? acceptList(node, value) : REJECTED;
    case "object":
      return isTree(value) ? acceptMap(node, value) : REJECTED;
    default:
      return REJECTED;
  }
}

/** A section that is missing has the defaults of its keys. */
function acceptAbsent(node: SchemaNode): AcceptResult {
  if (node.properties !== undefined && "default" in node) return acceptMap(node, {});
  return acceptedValue("default" in node ? structuredClone(node.default) : undefined);
}

function acceptList(node: SchemaNode, list: readonly unknown[]): AcceptResult {
  const results = list.map((item) => acceptTree(node.items ?? {}, item ?? null));
  return results.every((result) => result.ok)
    ? acceptedValue(results.map((result) => result.value))
    : REJECTED;
}

function acceptMap(node: SchemaNode, map: Tree): AcceptResult {
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
    const inner = acceptTree(node.properties?.[key] ?? (node.additionalProperties || {}), own);
    if (!inner.ok) return REJECTED;
    if (inner.value !== undefined) result[key] = inner.value;
  }
  return acceptedValue(result);
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

export type ValidateResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** A good tree costs a walk over the schema; only a bad one loads zod, which says what is wrong with it. */
export async function validateSettings(
  tree: Tree,
  root: SchemaNode,
  origin: Origin,
): Promise<ValidateResult> {
  const result = acceptTree(root, tree);
  if (result.ok) return { ok: true, config: result.value as Config };
  const { explainProblems } = await import("./problems.ts");
  const explained = explainProblems(tree, root, origin);
  return explained.ok ? { ok: true, config: explained.value as Config } : explained;
}

/**
 * Checks the rules that the schema does not show: every role must name an existing provider, every host must
 * be valid.
 */
export function checkReferences(config: Config, origin: Origin): ConfigProblem[] {
  return [...roleProblems(config, origin), ...hostProblems(config, origin)];
}

function hostProblems({ worker: { network }, research }: Config, origin: Origin): ConfigProblem[] {
  const lists = {
    "worker.network.allowed_domains": network.allowed_domains,
    "worker.network.denied_domains": network.denied_domains,
    "research.allowed": research.allowed,
    "research.denied": research.denied,
  };
  return Object.entries(lists).flatMap(([key, entries]) =>
    entries.flatMap((entry, i) =>
      isNetworkEntry(entry)
        ? []
        : [invalidValue(`${key}[${i}]`, entry, "example.org, *.example.org or host:port", origin)],
    ),
  );
}

function roleProblems(config: Config, origin: Origin): ConfigProblem[] {
  const names = ["ollama", ...Object.keys(config.providers)];
  const { default_coder: _, coder: __, ...roles } = config.roles;
  return Object.entries(roles).flatMap(([role, { provider }]): ConfigProblem[] =>
    names.includes(provider)
      ? []
      : [invalidValue(`roles.${role}.provider`, provider, names.join(" | "), origin)],
  );
}
