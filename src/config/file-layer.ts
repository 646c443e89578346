import { maskSecrets } from "../domain/platform/mask.ts";
import { looksLikeSecretName } from "../domain/platform/secret-name.ts";
import type { ConfigProblem, FilePosition } from "../domain/texts/config-problem.ts";
import type { Env } from "./environment.ts";
import { nodeAt, type SchemaNode } from "./keys.ts";
import { coerceText } from "./scalar-values.ts";
import { isTree, leavesOf, type Tree, withValue } from "./tree.ts";
import { validateSettings } from "./validate.ts";
import { parseYamlTree, type YamlTree } from "./yaml-tree.ts";

/** One file: parse, refuse literal secrets, drop empty sections, validate on its own so that every problem has its line. */
export async function readFileLayer(text: string, file: string, root: SchemaNode): Promise<YamlTree> {
  const parsed = parseYamlTree(text, file);
  if (!parsed.ok) return parsed;
  const { positions } = parsed;
  const tree = withoutEmptySections(parsed.tree, root);
  const leaked = leavesOf(tree).filter((leaf) => holdsSecret(leaf.path, leaf.value, root));
  const literal = leaked.map(({ path }): ConfigProblem => {
    const at = positions.get(path.join("."));
    return { code: "literal-secret", key: path.join("."), ...(at === undefined ? {} : { at }) };
  });
  const withReferences = leavesOf(tree).reduce(
    (next, { path, value }) => (isExpandable(path, value, root) ? withValue(next, path, undefined) : next),
    leaked.reduce((next, { path }) => withValue(next, path, undefined), tree),
  );
  const checked = validateSettings(withReferences, root, {
    position: (key) => positions.get(key) ?? { file },
    variable: () => undefined,
  });
  const leakedKeys = new Set(leaked.map(({ path }) => path.join(".")));
  const others = checked.ok
    ? []
    : checked.problems.filter((problem) => !("key" in problem && leakedKeys.has(problem.key)));
  const problems = [...literal, ...others];
  return problems.length > 0 ? { ok: false, problems } : { ok: true, tree, positions };
}

/** Replaces `env:NAME` in keys that hold no secret by what the variable says. */
export function expandReferences(
  layer: { readonly tree: Tree; readonly positions: ReadonlyMap<string, FilePosition> },
  env: Env,
  root: SchemaNode,
): { readonly tree: Tree; readonly problems: readonly ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  let tree = layer.tree;
  for (const { path, value } of leavesOf(layer.tree)) {
    if (!isExpandable(path, value, root)) continue;
    const variable = String(value).slice("env:".length);
    const text = env[variable];
    const key = path.join(".");
    const position = layer.positions.get(key);
    const at = position === undefined ? {} : { at: position };
    if (text === undefined || text === "") {
      problems.push({ code: "unset-reference", key, variable, ...at });
      continue;
    }
    tree = withValue(tree, path, coerceText(text, nodeAt(root, path) ?? {}) ?? text);
  }
  return { tree, problems };
}

const REFERENCE = /^env:[A-Za-z_][A-Za-z0-9_]*$/;

function isReference(value: unknown): value is string {
  return typeof value === "string" && REFERENCE.test(value);
}

function isExpandable(path: readonly string[], value: unknown, root: SchemaNode): boolean {
  return (
    isReference(value) && !path.some((_, index) => nodeAt(root, path.slice(0, index + 1))?.reference === true)
  );
}

const SECRET_HEADER = /^authorization$|^cookie$|token|secret|key/i;

function holdsSecret(path: readonly string[], value: unknown, root: SchemaNode): boolean {
  if (isReference(value)) return false;
  if (nodeAt(root, path)?.secret === true) return typeof value === "string" || typeof value === "number";
  if (path[0] !== "mcp_servers" && path[0] !== "database_url") return false;
  const name = path.at(-1) ?? "";
  if (path.at(-2) === "headers")
    return typeof value === "string" && SECRET_HEADER.test(name) && !/\$\{[A-Za-z_]\w*/.test(value);
  if (path.at(-2) === "env" && looksLikeSecretName(name) && value !== "") return true;
  const texts = Array.isArray(value) ? value : [value];
  return texts.some((text) => typeof text === "string" && maskSecrets(text) !== text);
}

/** `worker:` with nothing under it means the section's defaults. */
function withoutEmptySections(tree: Tree, node: SchemaNode): Tree {
  return Object.fromEntries(
    Object.entries(tree).flatMap(([key, value]): [string, unknown][] => {
      const below = nodeAt(node, [key]);
      if (value === null && below?.type === "object") return [];
      return [[key, isTree(value) && below !== undefined ? withoutEmptySections(value, below) : value]];
    }),
  );
}
