import { z } from "zod";
import type { ConfigProblem } from "../domain/config/config-problem.ts";
import { expectedOf, invalidValue, knownKeys, nodeAt, type Origin, type SchemaNode } from "./keys.ts";
import { nearestName } from "./nearest.ts";
import { configSchema } from "./schema/root.ts";
import { getAt, type Path, pathText, type Tree } from "./tree.ts";

/** The result of zod for a tree: why it is refused, or the value when it is not. */
export function explainProblems(
  tree: Tree,
  root: SchemaNode,
  origin: Origin,
):
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] } {
  z.config({ jitless: true });
  const result = configSchema.safeParse(tree);
  if (result.success) return { ok: true, value: result.data };
  return {
    ok: false,
    problems: result.error.issues.flatMap((issue) => problemsOf(issue, tree, root, origin)),
  };
}

function problemsOf(issue: z.core.$ZodIssue, tree: Tree, root: SchemaNode, origin: Origin): ConfigProblem[] {
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => unknownKey([...path, key], root, origin));
  const key = pathText(path);
  if (issue.code === "invalid_key") {
    return [invalidValue(key, path.at(-1), "a name of letters, digits, _ . and -", origin)];
  }
  const node = nodeAt(root, path);
  return [
    invalidValue(key, getAt(tree, path), node === undefined ? issue.message : expectedOf(node), origin),
  ];
}

/** Nearest among the keys that may stand there; failing that, a key of that name elsewhere in the tree. */
function unknownKey(path: Path, root: SchemaNode, origin: Origin): ConfigProblem {
  const name = String(path.at(-1));
  const parent = path.slice(0, -1);
  const sibling = nearestName(name, Object.keys(nodeAt(root, parent)?.properties ?? {}));
  const near = sibling === undefined ? elsewhere(name, root) : pathText([...parent, sibling]);
  const at = origin.position(pathText(path));
  return {
    code: "unknown-key",
    key: pathText(path),
    ...(near === undefined ? {} : { nearest: near }),
    ...(at === undefined ? {} : { at }),
  };
}

function elsewhere(name: string, root: SchemaNode): string | undefined {
  const keys = knownKeys(root).filter((key) => !key.path.includes("*"));
  const same = keys.find((key) => key.path.at(-1) === name);
  if (same !== undefined) return same.path.join(".");
  return nearestName(
    name,
    keys.map((key) => key.path.join(".")),
  );
}
