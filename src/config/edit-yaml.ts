import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import type { SettingEdit } from "./config.ts";

/**
 * A text with some values changed, line by line so that all others stay; where that cannot be, the library rewrites it and may move
 * comments. Null: the text is not YAML, or has a value where a section is needed.
 */
export function editYaml(text: string, edits: readonly SettingEdit[]): string | null {
  return edits.reduce<string | null>((now, edit) => (now === null ? null : edited(now, edit)), text);
}

function edited(text: string, edit: SettingEdit): string | null {
  const whole = rewritten(text, edit);
  if (whole === null) return null;
  const spliced = splice(text, edit);
  return spliced !== null && same(spliced, whole) ? spliced : whole;
}

function rewritten(text: string, { path, value }: SettingEdit): string | null {
  const document: Document = parseDocument(text);
  if (document.errors.length > 0) return null;
  try {
    if (document.contents === null) document.contents = document.createNode({});
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, document.createNode(value));
    return document.toString({ lineWidth: 0 });
  } catch {
    return null;
  }
}

function same(one: string, other: string): boolean {
  const [a, b] = [parseDocument(one), parseDocument(other)];
  return a.errors.length === 0 && JSON.stringify(a.toJS() ?? {}) === JSON.stringify(b.toJS() ?? {});
}

/** Null: this change is not one of a few lines. */
function splice(text: string, edit: SettingEdit): string | null {
  const { path, value } = edit;
  const root = parseDocument(text).contents;
  const key = path.at(-1) as string | number;
  const found = nodeAt(root, path);
  if (value === undefined) return found === null ? text : without(text, nodeAt(root, path.slice(0, -1)), key);
  if (isScalar(found) && typeof found.type === "string" && !found.type.startsWith("BLOCK"))
    return isPlain(value) ? put(text, found, flow(value)) : null;
  if (found !== null) return null;
  const parent = nodeAt(root, path.slice(0, -1));
  if (isMap(parent) && parent.flow === true)
    return put(text, parent, flow({ ...parent.toJSON(), [key]: value }));
  if ((isMap(parent) || isSeq(parent)) && parent.flow !== true && parent.items.length > 0)
    return added(text, parent, isSeq(parent) ? [value] : { [key]: value });
  // A missing section is added at the end.
  if (root !== null && (!isMap(root) || root.flow === true || nodeAt(root, path.slice(0, 1)) !== null))
    return null;
  const section = [...path].reverse().reduce<unknown>((inner, one) => {
    return typeof one === "number" ? [inner] : { [one]: inner };
  }, value);
  const before = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  return `${before}${before === "" ? "" : "\n"}${stringify(section, { lineWidth: 0 })}`;
}

function nodeAt(root: unknown, path: readonly (string | number)[]): Node | null {
  let node: unknown = root;
  for (const key of path) node = isCollection(node) ? node.get(key, true) : null;
  return isCollection(node) || isScalar(node) ? node : null;
}

function put(text: string, { range }: Node, replacement: string): string | null {
  return range ? text.slice(0, range[0]) + replacement + text.slice(range[1]) : null;
}

/** One more line at the end of a block. */
function added(text: string, block: YAMLMap | YAMLSeq, value: unknown): string | null {
  const first = block.items[0] as Pair | Node | undefined;
  const begin = isSeq(block) ? block.range?.[0] : ((first as Pair).key as Node).range?.[0];
  const end = endOf(block);
  if (begin === undefined || end === null) return null;
  const indent = " ".repeat(begin - (text.lastIndexOf("\n", begin - 1) + 1));
  const lines = stringify(value, { lineWidth: 0 }).trimEnd().split("\n");
  const at = lineEnd(text, end);
  return `${text.slice(0, at)}\n${lines.map((line) => indent + line).join("\n")}${text.slice(at)}`;
}

/** Takes the lines of one entry out of a block. */
function without(text: string, parent: Node | null, key: string | number): string | null {
  if (!isCollection(parent) || parent.flow === true || parent.items.length < 2) return null;
  const index = isSeq(parent)
    ? Number(key)
    : (parent as YAMLMap).items.findIndex((one) => keyOf(one) === key);
  const entry = parent.items[index] as Pair | Node | undefined;
  if (entry === undefined) return null;
  const start = isSeq(parent) ? (entry as Node).range?.[0] : ((entry as Pair).key as Node).range?.[0];
  const end = endOf(isSeq(parent) ? (entry as Node) : ((entry as Pair).value as Node));
  if (start === undefined || end === null) return null;
  return text.slice(0, text.lastIndexOf("\n", start - 1) + 1) + text.slice(lineEnd(text, end) + 1);
}

const keyOf = ({ key }: Pair): unknown => (isScalar(key) ? key.value : null);

/** Where the last value of a node ends; a block's own end counts the comments behind it. */
function endOf(node: Node | null): number | null {
  if (isCollection(node) && node.flow !== true) {
    const last = node.items.at(-1) as Pair | Node | undefined;
    if (last === undefined) return node.range?.[1] ?? null;
    return endOf(isMap(node) ? ((last as Pair).value as Node | null) : (last as Node));
  }
  return node?.range?.[1] ?? null;
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf("\n", from);
  return at === -1 ? text.length : at;
}

const isPlain = (value: unknown) => value === null || typeof value !== "object";

/** On one line, valid in any position. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value === "object" && value !== null)
    return `{ ${Object.entries(value)
      .map(([key, one]) => `${flow(key)}: ${flow(one)}`)
      .join(", ")} }`;
  const plain = typeof value === "string" && /^[A-Za-z][\w./-]*$/.test(value) && !RESERVED.test(value);
  return plain ? value : JSON.stringify(value);
}

const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
