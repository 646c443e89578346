import { z } from "zod";
import type { ConfigProblem, FilePosition } from "../domain/config/config-problem.ts";
import { expectedOf, nodeAt, type SchemaNode } from "./keys.ts";
import { nearestName } from "./nearest.ts";
import { invalidValue, type Origin } from "./origin.ts";
import { type TaskFile, taskFileSchema } from "./task.ts";
import { getAt, pathText, type Tree } from "./tree.ts";
import { parseYamlTree } from "./yaml-tree.ts";

export type ReadTaskFile =
  | {
      readonly ok: true;
      readonly file: TaskFile;
      /** `runner.worker.env` with every reference replaced. */
      readonly workerEnv: Readonly<Record<string, string>>;
      /** Values that came from the host's environment: secrets as far as we know. */
      readonly secrets: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

type Environment = Readonly<Record<string, string | undefined>>;

/** Strict: an unknown key names the nearest known one, and each problem its place in the file. */
export function readTaskFile(text: string, file: string, env: Environment): ReadTaskFile {
  const parsed = parseYamlTree(text, file);
  if (!parsed.ok) return parsed;
  const { tree, positions } = parsed;
  z.config({ jitless: true });
  const origin: Origin = {
    position: (key) => positions.get(key) ?? near(positions, key, file),
    variable: () => undefined,
  };
  const result = taskFileSchema.safeParse(tree);
  if (!result.success) {
    const root = z.toJSONSchema(taskFileSchema, { io: "input", unrepresentable: "any" }) as SchemaNode;
    return {
      ok: false,
      problems: result.error.issues.flatMap((issue) => problemsOf(issue, tree, root, origin)),
    };
  }
  const resolved = Object.entries(result.data.runner.worker.env).map(([name, value]) => {
    const variable = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(value)?.[1];
    return { name, variable, value: variable === undefined ? value : env[variable] };
  });
  const problems = resolved.flatMap(({ name, variable, value }): ConfigProblem[] => {
    if (variable === undefined || (value !== undefined && value !== "")) return [];
    const key = `runner.worker.env.${name}`;
    const at = origin.position(key);
    return [{ code: "unset-reference", key, variable, ...(at && { at }) }];
  });
  if (problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    file: result.data,
    workerEnv: Object.fromEntries(resolved.map(({ name, value }) => [name, value ?? ""])),
    secrets: resolved.flatMap(({ variable, value }) => (variable === undefined || !value ? [] : [value])),
  };
}

/** For editors. */
export function taskFileJsonSchema(): object {
  const schema = z.toJSONSchema(taskFileSchema, { io: "input", unrepresentable: "any" });
  // `shown` is our own word, for messages.
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === "shown" ? undefined : value))) as object;
}

function problemsOf(issue: z.core.$ZodIssue, tree: Tree, root: SchemaNode, origin: Origin): ConfigProblem[] {
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  const key = pathText(path);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((name) => {
      const full = pathText([...path, name]);
      const sibling = nearestName(name, Object.keys(nodeAt(root, path)?.properties ?? {}));
      const at = origin.position(full);
      const near = sibling === undefined ? {} : { nearest: pathText([...path, sibling]) };
      return { code: "unknown-key" as const, key: full, ...near, ...(at && { at }) };
    });
  if (issue.code === "invalid_key") return [invalidValue(key, path.at(-1), "a variable's name", origin)];
  const node = nodeAt(root, path);
  return [invalidValue(key || "version", getAt(tree, path), node ? expectedOf(node) : issue.message, origin)];
}

/** A key that is missing is said to be missing where its section stands. */
function near(positions: ReadonlyMap<string, FilePosition>, key: string, file: string): FilePosition {
  for (let at = key.lastIndexOf("."); at > 0; at = key.lastIndexOf(".", at - 1)) {
    const found = positions.get(key.slice(0, at));
    if (found) return found;
  }
  return { file };
}
