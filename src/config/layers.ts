import type { ConfigProblem, ConfigWarning, FilePosition } from "../domain/config/config-problem.ts";
import type { Config } from "./config.ts";
import type { Env } from "./environment.ts";
import { readEnvironment } from "./environment-layer.ts";
import { jsonSchema, knownKeys, type SchemaNode } from "./keys.ts";
import type { ConfigFile, KeySource, LoadResult } from "./loaded.ts";
import { NO_ORIGIN } from "./origin.ts";
import { splitByPower } from "./power.ts";
import { createSecrets } from "./secrets.ts";
import { leavesOf, mergeTrees, type Tree } from "./tree.ts";
import { isTrusted } from "./trust.ts";
import { readUsual } from "./usual-variables.ts";
import { checkReferences, validateSettings } from "./validate.ts";

interface Layer {
  readonly tree: Tree;
  readonly source: (key: string) => KeySource;
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
 * 1. the base file  2. the environment, because it may say where the workspace is  3. the workspace's file, only
 * its harmless keys unless it is trusted  4. all of them in their order, over what other programs' variables say,
 * validated as one  5. flags on top.
 */
export async function loadLayers(input: LayersInput): Promise<LoadResult> {
  const { env, home, base, flags } = input;
  const root = jsonSchema();

  const baseLayer = await fileLayer(base, env, root);
  const environment = readEnvironment(env, knownKeys(root), baseLayer.tree);
  const early = await validateSettings(mergeTrees(baseLayer.tree, environment.tree), root, {
    position: () => undefined,
    variable: (key) => environment.variables.get(key),
  });
  const errors = [...baseLayer.problems, ...environment.problems, ...(early.ok ? [] : early.problems)];
  if (!early.ok || errors.length > 0) return { ok: false, errors: withoutTwins(errors) };

  const workspace = input.folder(mergeTrees(early.config, flags) as Config);
  const file = input.workspaceFile(workspace);
  if (file.kind === "unreadable") return { ok: false, errors: [file.problem] };
  const held = await validateSettings(baseLayer.tree, root, NO_ORIGIN);
  const trusted = file.kind === "file" && isTrusted({ home, workspace, content: file.bytes });
  const own = await workspaceLayer(file, { env, root, trusted, base: held.ok ? held.config : {} });
  if (own.problems.length > 0) return { ok: false, errors: own.problems };

  const layers: readonly Layer[] = [
    { tree: baseLayer.tree, source: fileSource(base.file, baseLayer.positions) },
    { tree: own.tree, source: fileSource(file.file, own.positions) },
    {
      tree: environment.tree,
      source: (key) => ({ kind: "environment", variable: environment.variables.get(key) ?? "" }),
    },
  ];
  const said = layers.reduce((under: Tree, layer) => mergeTrees(under, layer.tree), {});
  const usual = readUsual(env, said, mergeTrees(baseLayer.tree, own.tree));
  const merged = mergeTrees(usual.tree, said);
  const sources = sourcesOf([
    {
      tree: usual.tree,
      source: (key) => ({ kind: "environment", variable: usual.variables.get(key) ?? "" }),
    },
    ...layers,
    { tree: flags, source: () => ({ kind: "flag" }) },
  ]);
  const origin = {
    position: (key: string) => positionOf(sources[key]),
    variable: (key: string) => environment.variables.get(key) ?? usual.variables.get(key),
  };
  const final = await validateSettings(merged, root, origin);
  if (!final.ok) return { ok: false, errors: final.problems };
  const broken = checkReferences(final.config, origin);
  if (broken.length > 0) return { ok: false, errors: broken };

  const { mcp_server: ignored, ...executor } = final.config.command_executor;
  const config = withAliases(mergeTrees({ ...final.config, command_executor: executor }, flags) as Config);
  const ignoredAt = positionOf(
    sources["command_executor.mcp_server.name"] ?? sources["command_executor.mcp_server"],
  );
  const named = new Set([...baseLayer.named, ...own.named, ...referencesIn(environment.tree)]);
  const warnings: ConfigWarning[] = [
    ...environment.warnings.filter(
      (warning) => warning.code !== "unknown-variable" || !named.has(warning.variable),
    ),
    ...usual.warnings,
    ...own.warnings,
    ...(ignored === undefined
      ? []
      : [
          {
            code: "ignored-key" as const,
            key: "command_executor.mcp_server",
            ...(ignoredAt ? { at: ignoredAt } : {}),
          },
        ]),
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

async function workspaceLayer(
  file: ConfigFile,
  {
    env,
    root,
    trusted,
    base,
  }: { readonly env: Env; readonly root: SchemaNode; readonly trusted: boolean; readonly base: Tree },
): Promise<ReadLayer & { readonly warnings: readonly ConfigWarning[] }> {
  if (trusted) return { ...(await fileLayer(file, env, root)), warnings: [] };
  const layer = await rawLayer(file, root);
  const { harmless, widening } = splitByPower(layer.tree, base);
  const warnings: ConfigWarning[] =
    widening.length === 0 ? [] : [{ code: "untrusted-keys", file: file.file, keys: widening }];
  return { ...layer, tree: harmless, warnings };
}

/** `env:NAME`, wherever it stands. */
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
