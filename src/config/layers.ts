import { mergeObjects } from "../domain/platform/json-members.ts";
import { nearestName } from "../domain/platform/nearest.ts";
import type { ConfigProblem, ConfigWarning, FilePosition } from "../domain/texts/config-problem.ts";
import { type Config, type ConfigFile, createSecrets, type KeySource, type LoadResult } from "./config.ts";
import { type Env, SHORT_VARIABLES, settingVariables, variableOf } from "./environment.ts";
import {
  expectedOf,
  invalidValue,
  jsonSchema,
  type KeyInfo,
  knownKeys,
  NO_ORIGIN,
  type SchemaNode,
} from "./keys.ts";
import { splitByPower } from "./power.ts";
import { coerceText } from "./scalar-values.ts";
import { isTree, leavesOf, type Tree, withValue } from "./tree.ts";
import { isTrusted } from "./trust.ts";
import { readUsual } from "./usual-variables.ts";
import { checkReferences, checkSchedules, validateSettings } from "./validate.ts";

/** A secret's key refers to its variable. `below` has the names that people chose, as in `PICOCLAW_PROVIDERS_MY_LLM_MODEL`. */
function readEnvironment(env: Env, root: SchemaNode, below: Tree) {
  /** Which variable set which key. */
  const variables = new Map<string, string>();
  const problems: ConfigProblem[] = [];
  const warnings: ConfigWarning[] = [];
  let tree: Tree = {};
  for (const variable of settingVariables(env)) {
    const found = findKey(variable, root, below);
    if (found === undefined) {
      const plain = knownKeys(root).filter(({ path }) => !path.includes("*"));
      const near = nearestName(variable, [...plain.map(({ path }) => variableOf(path)), ...OTHERS]);
      warnings.push({ code: "unknown-variable", variable, ...(near === undefined ? {} : { nearest: near }) });
      continue;
    }
    const text = env[variable] ?? "";
    const value = keyValue(found.key, variable, text);
    const key = found.path.join(".");
    const expected = key === LOCAL_ONLY ? "true (false counts only in a file)" : expectedOf(found.key.node);
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

/** Chats leave this machine only by a decision that is written in a file. */
const LOCAL_ONLY = "security.local_only";
const OTHERS = [...Object.keys(SHORT_VARIABLES), "PICOCLAW_HOME", "PICOCLAW_LOCALE"];

/** A secret stays in its variable, and the key refers to it. */
function keyValue(key: KeyInfo, variable: string, text: string): unknown {
  const takesText =
    key.node.secret || (key.reference && key.node.anyOf?.some((one) => one.type === "string"));
  return takesText && !text.startsWith("env:") ? `env:${variable}` : coerceText(text, key.node);
}

function findKey(
  variable: string,
  root: SchemaNode,
  below: Tree,
): { readonly key: KeyInfo; readonly path: readonly string[] } | undefined {
  const short = SHORT_VARIABLES[variable]?.split(".");
  const whole = short === undefined ? variable : variableOf(short);
  const keys = knownKeys(root, (path) => whole.startsWith(variableOf(path)));
  const exact = keys.find(({ path }) => variableOf(path) === whole);
  if (exact !== undefined) return { key: exact, path: exact.path };
  for (const key of keys) {
    const star = key.path.indexOf("*");
    if (star === -1) continue;
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

interface Layer {
  readonly tree: Tree;
  readonly source: (key: string) => KeySource;
}

function variablesLayer({
  tree,
  variables,
}: Pick<ReturnType<typeof readUsual>, "tree" | "variables">): Layer {
  return { tree, source: (key) => ({ kind: "environment", variable: variables.get(key) ?? "" }) };
}

interface LayersInput {
  readonly env: Env;
  readonly home: string;
  /** The home's file, or the one that was named. */
  readonly base: ConfigFile;
  readonly flags: Tree;
  readonly folder: (config: Config) => string;
  readonly workspaceFile: (workspace: string) => ConfigFile;
}

/**
 * 1. the base file  2. the environment, which may say where the workspace is  3. the workspace's file, unless trusted its harmless
 * keys only  4. all of them over other programs' variables, validated as one  5. flags on top.
 */
export async function loadLayers(input: LayersInput): Promise<LoadResult> {
  const { env, home, base, flags } = input;
  const root = jsonSchema();

  const baseLayer = await fileLayer(base, env, root);
  const environment = readEnvironment(env, root, baseLayer.tree);
  const early = validateSettings(mergeObjects(baseLayer.tree, environment.tree), root, {
    position: () => undefined,
    variable: (key) => environment.variables.get(key),
  });
  const errors = [...baseLayer.problems, ...environment.problems, ...(early.ok ? [] : early.problems)];
  if (!early.ok || errors.length > 0) return { ok: false, errors: withoutTwins(errors) };

  const workspace = input.folder(mergeObjects(early.config, flags) as Config);
  const file = input.workspaceFile(workspace);
  if (file.kind === "unreadable") return { ok: false, errors: [file.problem] };
  const own = await workspaceLayer(file, { env, root, home, workspace, base: baseLayer.tree });
  if (own.problems.length > 0) return { ok: false, errors: own.problems };

  const layers: readonly Layer[] = [
    { tree: baseLayer.tree, source: fileSource(base.file, baseLayer.positions) },
    { tree: own.tree, source: fileSource(file.file, own.positions) },
    variablesLayer(environment),
  ];
  const said = layers.reduce((under: Tree, layer) => mergeObjects(under, layer.tree), {});
  const usual = readUsual(env, said, mergeObjects(baseLayer.tree, own.tree));
  const merged = mergeObjects(usual.tree, said);
  const sources = sourcesOf([
    variablesLayer(usual),
    ...layers,
    { tree: flags, source: () => ({ kind: "flag" }) },
  ]);
  const origin = {
    position: (key: string) => {
      // A list has one source; each of its values has a position in that file.
      const whole = positionOf(sources[key] ?? sources[key.replace(/\[.*$/, "")]);
      const inside = [own.positions.get(key), baseLayer.positions.get(key)];
      return (key.includes("[") ? inside.find((one) => one?.file === whole?.file) : undefined) ?? whole;
    },
    variable: (key: string) => environment.variables.get(key) ?? usual.variables.get(key),
  };
  const final = validateSettings(merged, root, origin);
  if (!final.ok) return { ok: false, errors: final.problems };
  const broken = [...checkReferences(final.config, origin), ...(await checkSchedules(final.config, origin))];
  if (broken.length > 0) return { ok: false, errors: broken };

  const { mcp_server: ignored, ...executor } = final.config.command_executor;
  const config = withAliases(mergeObjects({ ...final.config, command_executor: executor }, flags) as Config);
  const ignoredAt = positionOf(
    sources["command_executor.mcp_server.name"] ?? sources["command_executor.mcp_server"],
  );
  const ignoredKey: ConfigWarning = {
    code: "ignored-key",
    key: "command_executor.mcp_server",
    ...(ignoredAt && { at: ignoredAt }),
  };
  const named = new Set([...baseLayer.named, ...own.named, ...referencesIn(environment.tree)]);
  const warnings: ConfigWarning[] = [
    ...environment.warnings.filter(
      (warning) => warning.code !== "unknown-variable" || !named.has(warning.variable),
    ),
    ...usual.warnings,
    ...own.warnings,
    ...(ignored === undefined ? [] : [ignoredKey]),
    ...dangers(config),
  ];
  const files = [base, file].filter((one) => one.kind === "file").map((one) => one.file);
  return { ok: true, config, sources, warnings, workspace, home, files, secrets: createSecrets(env, config) };
}

interface ReadLayer {
  readonly tree: Tree;
  readonly positions: ReadonlyMap<string, FilePosition>;
  readonly problems: readonly ConfigProblem[];
  /** Variables that it refers to, also where it does not count. */
  readonly named: readonly string[];
}

const NOTHING: ReadLayer = { tree: {}, positions: new Map(), problems: [], named: [] };

async function fileLayer(file: ConfigFile, env: Env, root: SchemaNode): Promise<ReadLayer> {
  const read = await rawLayer(file, root);
  if (read === NOTHING || read.problems.length > 0) return read;
  const { expandReferences } = await import("./file-layer.ts");
  return { ...read, ...expandReferences(read, env, root) };
}

async function rawLayer(file: ConfigFile, root: SchemaNode): Promise<ReadLayer> {
  if (file.kind !== "file") return NOTHING;
  const { readFileLayer } = await import("./file-layer.ts");
  const layer = await readFileLayer(new TextDecoder().decode(file.bytes), file.file, root);
  if (!layer.ok) return { ...NOTHING, problems: layer.problems };
  return { ...layer, problems: [], named: referencesIn(layer.tree) };
}

interface WorkspaceLayerInput extends Pick<LayersInput, "env" | "home"> {
  readonly root: SchemaNode;
  readonly workspace: string;
  readonly base: Tree;
}

async function workspaceLayer(
  file: ConfigFile,
  { env, home, root, workspace, base }: WorkspaceLayerInput,
): Promise<ReadLayer & { readonly warnings: readonly ConfigWarning[] }> {
  if (file.kind !== "file") return { ...NOTHING, warnings: [] };
  if (isTrusted({ home, workspace, content: file.bytes }))
    return { ...(await fileLayer(file, env, root)), warnings: [] };
  const layer = await rawLayer(file, root);
  const held = validateSettings(base, root, NO_ORIGIN);
  const { harmless, widening } = splitByPower(layer.tree, held.ok ? held.config : {});
  const warnings: ConfigWarning[] =
    widening.length === 0 ? [] : [{ code: "untrusted-keys", file: file.file, keys: widening }];
  return { ...layer, tree: harmless, warnings };
}

/** `env:NAME`, anywhere in the tree. */
function referencesIn(value: unknown): string[] {
  if (typeof value === "string") return value.startsWith("env:") ? [value.slice("env:".length)] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(referencesIn) : [];
}

function fileSource(file: string, positions: ReadonlyMap<string, FilePosition>): (key: string) => KeySource {
  return (key) => {
    const line = positions.get(key)?.line;
    return { kind: "file", file, ...(line === undefined ? {} : { line }) };
  };
}

function sourcesOf(layers: readonly Layer[]): Record<string, KeySource> {
  const sources: Record<string, KeySource> = {};
  for (const layer of layers) {
    for (const { path, value } of leavesOf(layer.tree)) {
      if (value !== undefined) sources[path.join(".")] = layer.source(path.join("."));
    }
  }
  return sources;
}

function positionOf(source: KeySource | undefined): FilePosition | undefined {
  if (source?.kind !== "file") return undefined;
  return { file: source.file, ...(source.line === undefined ? {} : { line: source.line }) };
}

/** One problem for a key: the first, which knows most. */
function withoutTwins(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const seen = new Set<string>();
  return problems.filter((problem) => {
    const id = "key" in problem ? problem.key : JSON.stringify(problem);
    return seen.has(id) ? false : seen.add(id) !== undefined;
  });
}

/** `tasks.test_command` is the older name of `checks.command`. */
function withAliases(config: Config): Config {
  const command = config.checks.command ?? config.tasks.test_command;
  return { ...config, checks: { ...config.checks, command } };
}

function dangers(config: Config): ConfigWarning[] {
  const warnings: ConfigWarning[] = [];
  if (config.command_executor.docker.mount_docker_socket) warnings.push({ code: "docker-socket" });
  if (!config.security.local_only) warnings.push({ code: "cloud-allowed" });
  return warnings;
}
