import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { attemptOr } from "../domain/platform/error-text.ts";
import type { ConfigProblem, FilePosition } from "../domain/texts/config-problem.ts";
import { isTree, type Path, pathText, type Tree } from "./tree.ts";

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
  // Undefined where there are too many aliases.
  const tree = attemptOr(undefined, () => document.toJS({ maxAliasCount: 100 }) ?? {});
  if (!isTree(tree)) {
    return {
      ok: false,
      problems: [{ code: "invalid-yaml", detail: "not a map of keys", at: { file, line: 1, column: 1 } }],
    };
  }
  const positions = new Map<string, FilePosition>();
  noteOffsets(document.contents, [], (path, offset) => positions.set(path, at(offset)));
  const proto = [...positions].find(([key]) => /(?:^|\.)__proto__(?:$|[.[])/.test(key));
  if (proto !== undefined)
    return { ok: false, problems: [{ code: "unknown-key", key: proto[0], at: proto[1] }] };
  return { ok: true, tree, positions };
}

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

function noteOffsets(node: unknown, path: Path, note: (path: string, offset: number) => void): void {
  const parts: (readonly [step: string | number, marked: unknown, value: unknown])[] = [];
  if (isSeq(node)) parts.push(...node.items.map((item, index) => [index, item, item] as const));
  if (isMap(node))
    for (const { key, value } of node.items) if (isScalar(key)) parts.push([String(key.value), key, value]);
  for (const [step, marked, value] of parts) {
    const offset = isNode(marked) ? marked.range?.[0] : undefined;
    if (offset !== undefined) note(pathText([...path, step]), offset);
    noteOffsets(value, [...path, step], note);
  }
}
