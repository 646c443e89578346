import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import type { ConfigProblem, FilePosition } from "../domain/texts/config-problem.ts";
import { isTree, pathText, type Tree } from "./tree.ts";

export type YamlTree =
  | { readonly ok: true; readonly tree: Tree; readonly positions: ReadonlyMap<string, FilePosition> }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** A YAML map with the place of every key. An empty file is an empty map. */
export function parseYamlTree(text: string, file: string): YamlTree {
  const lineCounter = new LineCounter();
  // The parser compares each key of a map with all others: a file of nothing but keys would take minutes.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
  const at = (offset: number): FilePosition => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line, column: col };
  };
  if (document.errors.length > 0) {
    const problems = document.errors.map(
      (error): ConfigProblem => ({ code: "invalid-yaml", detail: error.message, at: at(error.pos[0]) }),
    );
    return { ok: false, problems };
  }
  const twins = document.contents === null ? [] : findTwins(document.contents);
  if (twins.length > 0) {
    const detail = "Map keys must be unique";
    return { ok: false, problems: twins.map((offset) => ({ code: "invalid-yaml", detail, at: at(offset) })) };
  }
  const tree = plain(() => document.toJS({ maxAliasCount: 100 }) ?? {});
  if (!isTree(tree)) {
    return {
      ok: false,
      problems: [{ code: "invalid-yaml", detail: "not a map of keys", at: { file, line: 1, column: 1 } }],
    };
  }
  const positions = new Map<string, FilePosition>();
  if (document.contents !== null) collect(document.contents, [], at, positions);
  const proto = [...positions].find(([key]) => /(?:^|\.)__proto__(?:$|[.[])/.test(key));
  if (proto !== undefined)
    return { ok: false, problems: [{ code: "unknown-key", key: proto[0], at: proto[1] }] };
  return { ok: true, tree, positions };
}

/** The positions of duplicate keys. */
function findTwins(node: unknown): number[] {
  if (isSeq(node)) return node.items.flatMap(findTwins);
  if (!isMap(node)) return [];
  const seen = new Set<unknown>();
  return node.items.flatMap(({ key, value }) => {
    const offset = isScalar(key) && seen.has(key.value) ? key.range?.[0] : undefined;
    if (isScalar(key)) seen.add(key.value);
    return [...(offset === undefined ? [] : [offset]), ...findTwins(value)];
  });
}

function plain(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined; // too many aliases
  }
}

function collect(
  node: Node,
  path: readonly (string | number)[],
  at: (offset: number) => FilePosition,
  positions: Map<string, FilePosition>,
): void {
  if (isAlias(node)) return;
  if (isSeq(node)) {
    for (const [index, item] of node.items.entries()) place(item, item, [...path, index], at, positions);
  }
  if (isMap(node)) {
    for (const pair of node.items) {
      const key = isScalar(pair.key) ? String(pair.key.value) : undefined;
      if (key !== undefined) place(pair.key, pair.value, [...path, key], at, positions);
    }
  }
}

function place(
  marked: unknown,
  value: unknown,
  path: readonly (string | number)[],
  at: (offset: number) => FilePosition,
  positions: Map<string, FilePosition>,
): void {
  const offset = isNode(marked) ? marked.range?.[0] : undefined;
  if (offset !== undefined) positions.set(pathText(path), at(offset));
  if (isNode(value)) collect(value, path, at, positions);
}

function isNode(value: unknown): value is Node {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value);
}
