import type { ConfigProblem, ConfigWarning } from "../domain/config/config-problem.ts";
import { coerceText } from "./scalar-values.ts";
import { type Env, SHORT_VARIABLES, settingVariables, variableOf } from "./environment.ts";
import type { KeyInfo } from "./keys.ts";
import { nearestName } from "./nearest.ts";
import { invalidValue } from "./origin.ts";
import { isTree, type Tree, withValue } from "./tree.ts";

export interface EnvironmentLayer {
  readonly tree: Tree;
  /** Which variable set which key. */
  readonly variables: ReadonlyMap<string, string>;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigWarning[];
}

/**
 * The keys that variables set. A secret is not copied: the key then refers to the variable (`env:PICOCLAW_…`).
 * `below` tells the names people chose, so that `PICOCLAW_PROVIDERS_MY_LLM_MODEL` finds `providers.my-llm.model`.
 */
export function readEnvironment(env: Env, keys: readonly KeyInfo[], below: Tree): EnvironmentLayer {
  const variables = new Map<string, string>();
  const problems: ConfigProblem[] = [];
  const warnings: ConfigWarning[] = [];
  let tree: Tree = {};
  for (const variable of settingVariables(env)) {
    const found = findKey(variable, keys, below);
    if (found === undefined) {
      const near = nearestName(variable, [
        ...keys.filter(isPlain).map((key) => variableOf(key.path)),
        ...OTHERS,
      ]);
      warnings.push({ code: "unknown-variable", variable, ...(near === undefined ? {} : { nearest: near }) });
      continue;
    }
    const text = env[variable] ?? "";
    const value = keyValue(found.key, variable, text);
    const key = found.path.join(".");
    const expected = key === LOCAL_ONLY ? "true (false counts only in a file)" : found.key.expected;
    if (value === undefined || (key === LOCAL_ONLY && value === false)) {
      problems.push(
        invalidValue(key, text, expected, { position: () => undefined, variable: () => variable }),
      );
      continue;
    }
    tree = withValue(tree, found.path, value);
    variables.set(key, variable);
  }
  return { tree, variables, problems, warnings };
}

/** Chats leave this machine only by a decision that stands written in a file. */
const LOCAL_ONLY = "security.local_only";
const OTHERS = [...Object.keys(SHORT_VARIABLES), "PICOCLAW_HOME", "PICOCLAW_LOCALE"];

function isPlain(key: KeyInfo): boolean {
  return !key.path.includes("*");
}

/** A secret stays in its variable, and the key refers to it. */
function keyValue(key: KeyInfo, variable: string, text: string): unknown {
  const takesText = key.secret || (key.reference && key.node.anyOf?.some((one) => one.type === "string"));
  return takesText && !text.startsWith("env:") ? `env:${variable}` : coerceText(text, key.node);
}

function findKey(
  variable: string,
  keys: readonly KeyInfo[],
  below: Tree,
): { readonly key: KeyInfo; readonly path: readonly string[] } | undefined {
  const short = SHORT_VARIABLES[variable];
  const exact = keys.find((key) =>
    short === undefined ? variableOf(key.path) === variable : key.path.join(".") === short,
  );
  if (exact !== undefined) return { key: exact, path: exact.path };
  for (const key of keys.filter((one) => !isPlain(one))) {
    const star = key.path.indexOf("*");
    const head = `${variableOf(key.path.slice(0, star))}_`;
    const tail = key.path
      .slice(star + 1)
      .map((step) => `_${step.toUpperCase()}`)
      .join("");
    const name = variable.slice(head.length, variable.length - tail.length);
    if (name === "" || !variable.startsWith(head) || !variable.endsWith(tail)) continue;
    if (variable.length < head.length + tail.length) continue;
    const chosen = chosenName(name, key.path.slice(0, star), below);
    return { key, path: key.path.map((step) => (step === "*" ? chosen : step)) };
  }
  return undefined;
}

/** The name as the files spell it, else in lower case. */
function chosenName(name: string, parent: readonly string[], below: Tree): string {
  let node: unknown = below;
  for (const step of parent) node = isTree(node) ? node[step] : undefined;
  const spelled = isTree(node) ? Object.keys(node) : [];
  return (
    spelled.find((one) => one.replace(/[^A-Za-z0-9]/g, "_").toUpperCase() === name) ?? name.toLowerCase()
  );
}
