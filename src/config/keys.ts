import { maskSecrets } from "../domain/platform/mask.ts";
import { type ConfigProblem, type FilePosition, NOTHING } from "../domain/texts/config-problem.ts";
import schema from "./schema.json" with { type: "json" };
import type { Path } from "./tree.ts";

/** A key of the tree, read off the schema. `*` in the path is a name that the user chooses. */
export interface KeyInfo {
  readonly path: readonly string[];
  readonly node: SchemaNode;
  readonly reference: boolean;
}

/** As much of JSON Schema as the tree uses, and what the reference, the loader and the trust rules need beyond it. */
export interface SchemaNode {
  readonly description?: string;
  /** Holds a secret: a file may contain only `env:NAME`. */
  readonly secret?: boolean;
  /** `env:NAME` is kept for the user of the key to resolve, not replaced at loading. */
  readonly reference?: boolean;
  /** A text that is a number of bytes. */
  readonly size?: boolean;
  /** A text that names a time zone. */
  readonly timezone?: boolean;
  /** How the type reads in the reference, where the schema alone says too little. */
  readonly shown?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | false;
  readonly propertyNames?: SchemaNode;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly default?: unknown;
}

/** The tree as JSON Schema, generated from the zod schema (`scripts/gen-config-docs.ts`) so that zod is not loaded. Editors can use it. */
export function jsonSchema(): SchemaNode {
  return schema as SchemaNode;
}

/** Every key, or those alone whose path `leads` somewhere up to the first name that the user chooses. */
export function knownKeys(
  root: SchemaNode = jsonSchema(),
  leads: (path: readonly string[]) => boolean = () => true,
): KeyInfo[] {
  return collect(root, [], false, leads);
}

function collect(
  node: SchemaNode,
  path: readonly string[],
  reference: boolean,
  leads: (path: readonly string[]) => boolean,
): KeyInfo[] {
  const kept = reference || node.reference === true;
  const inner = childrenOf(node);
  const children = inner.flatMap(([key, child]) =>
    path.includes("*") || key === "*" || leads([...path, key])
      ? collect(child, [...path, key], kept, leads)
      : [],
  );
  if (path.length === 0 || (inner.length > 0 && node.description === undefined)) return children;
  return [{ path, node, reference: kept }, ...children];
}

function childrenOf(node: SchemaNode): [string, SchemaNode][] {
  const named = Object.entries(node.properties ?? {});
  const any = node.additionalProperties;
  const chosen: [string, SchemaNode][] =
    any && (any.properties !== undefined || any.description !== undefined) ? [["*", any]] : [];
  return [...named, ...chosen];
}

/** The part of the schema that governs a path. */
export function nodeAt(root: SchemaNode, path: Path): SchemaNode | undefined {
  let node: SchemaNode | undefined = root;
  for (const step of path) {
    if (node === undefined) return undefined;
    const inner: SchemaNode =
      node.anyOf?.find((one) => one.type === "object" || one.type === "array") ?? node;
    node =
      typeof step === "number"
        ? inner.items
        : (inner.properties?.[step] ?? (inner.additionalProperties || undefined));
  }
  return node;
}

/** `true or false`, `integer from 1`, `auto | on | off`, `list of texts`. */
export function expectedOf(node: SchemaNode): string {
  if (node.shown !== undefined)
    return node.anyOf?.some((one) => one.type === "null") ? `${node.shown} or null` : node.shown;
  if (node.enum !== undefined) return node.enum.join(" | ");
  if (node.anyOf !== undefined) return node.anyOf.map(expectedOf).join(" or ");
  switch (node.type) {
    case "boolean":
      return "true or false";
    case "integer":
    case "number":
      return `${node.type}${bounds(node)}`;
    case "array":
      return `list of ${node.items?.type === "object" ? "maps" : "texts"}`;
    case "object":
      return "map";
    case "null":
      return "null";
    default:
      return "text";
  }
}

function bounds({ minimum, maximum }: SchemaNode): string {
  const low = minimum === undefined || minimum <= Number.MIN_SAFE_INTEGER ? "" : ` from ${minimum}`;
  const high = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? "" : ` to ${maximum}`;
  return low + high;
}

/** The source of a tree, for messages to the user. */
export interface Origin {
  position(key: string): FilePosition | undefined;
  variable(key: string): string | undefined;
}

export const NO_ORIGIN: Origin = { position: () => undefined, variable: () => undefined };

const LONGEST_SHOWN = 80;

export function invalidValue(key: string, value: unknown, expected: string, origin: Origin): ConfigProblem {
  const at = origin.position(key);
  const variable = origin.variable(key);
  return {
    code: "invalid-value",
    key,
    value: shownValue(value),
    expected,
    ...(at === undefined ? {} : { at }),
    ...(variable === undefined ? {} : { variable }),
  };
}

function shownValue(value: unknown): string {
  const text = value === undefined ? NOTHING : maskSecrets(JSON.stringify(value));
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN - 1)}…` : text;
}
