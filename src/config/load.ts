import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { mapTexts, mergeObjects } from "../domain/platform/json-members.ts";
import { maskSecrets } from "../domain/platform/mask.ts";
import {
  type Config,
  type ConfigFile,
  createSecrets,
  DEFAULTS,
  type KeySource,
  type LoadedConfig,
  type LoadInput,
  type LoadResult,
  type SettingEdit,
} from "./config.ts";
import {
  type Env,
  homeConfigFile,
  resolveHome,
  settingVariables,
  workspaceConfigFile,
} from "./environment.ts";
import { leavesOf, type Tree } from "./tree.ts";
import { hasUsualVariables } from "./usual-variables.ts";

const LARGEST_FILE = 1024 * 1024;

/** Merges other programs' variables, files, the environment and flags; the last wins. With none of them no library is loaded. */
export async function loadConfig(input: LoadInput = {}): Promise<LoadResult> {
  const env = input.env ?? process.env;
  const cwd = input.cwd ?? process.cwd();
  const home = input.home ?? resolveHome(env);
  const flags: Tree = input.flags ?? {};

  const baseFile = input.configFile === undefined ? homeConfigFile(home) : resolve(cwd, input.configFile);
  const base: ConfigFile =
    input.instead?.file === baseFile
      ? { kind: "file", file: baseFile, bytes: new TextEncoder().encode(input.instead.text) }
      : readConfigFile(baseFile);
  if (base.kind === "unreadable") return { ok: false, errors: [base.problem] };
  if (base.kind === "missing" && input.configFile !== undefined) {
    const detail = "no such file";
    return { ok: false, errors: [{ code: "unreadable-file", detail, at: { file: base.file } }] };
  }

  const folder = (config: Config) => resolve(cwd, input.workspace ?? config.worker.workspace ?? ".");
  const own = (workspace: string): ConfigFile =>
    input.configFile === undefined
      ? readConfigFile(workspaceConfigFile(workspace))
      : { kind: "missing", file: workspaceConfigFile(workspace) };

  const variables = settingVariables(env);
  if (
    base.kind === "missing" &&
    variables.every((name) => name === "DOCKER_HOST") &&
    !hasUsualVariables(env)
  ) {
    const workspace = folder(DEFAULTS);
    if (own(workspace).kind === "missing") return loadWithoutFiles({ env, home, workspace, flags });
  }
  const { loadLayers } = await import("./layers.ts");
  return loadLayers({ env, home, base, flags, folder, workspaceFile: own });
}

/** A file's text with some values changed, and the configuration that it would make; null where it cannot be edited. */
export async function loadEdited(place: LoadInput, file: string, old: string, edits: readonly SettingEdit[]) {
  const { editYaml } = await import("./edit-yaml.ts");
  const text = editYaml(old, edits);
  return text === null ? null : { text, loaded: await loadConfig({ ...place, instead: { file, text } }) };
}

/** A folder, a device or a very large file is refused before it is opened. */
function readConfigFile(file: string): ConfigFile {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return { kind: "missing", file };
    if (!stat.isFile()) return unreadableFile(file, "not a file");
    if (stat.size > LARGEST_FILE) return unreadableFile(file, "larger than 1 MiB");
    return { kind: "file", file, bytes: readFileSync(file) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return code === "ENOTDIR" ? { kind: "missing", file } : unreadableFile(file, code);
  }
}

function unreadableFile(file: string, detail: string): ConfigFile {
  return { kind: "unreadable", file, problem: { code: "unreadable-file", detail, at: { file } } };
}

function loadWithoutFiles(at: {
  readonly env: Env;
  readonly home: string;
  readonly workspace: string;
  readonly flags: Tree;
}): LoadResult {
  const docker = at.env.DOCKER_HOST;
  const environment: Tree = docker ? { command_executor: { docker: { host: docker } } } : {};
  const config = mergeObjects(mergeObjects(structuredClone(DEFAULTS), environment), at.flags) as Config;
  const sources: Record<string, KeySource> = {};
  if (docker) sources["command_executor.docker.host"] = { kind: "environment", variable: "DOCKER_HOST" };
  for (const { path, value } of leavesOf(at.flags))
    if (value !== undefined) sources[path.join(".")] = { kind: "flag" };
  const secrets = createSecrets(at.env, config);
  return {
    ok: true,
    config,
    sources,
    warnings: [],
    workspace: at.workspace,
    home: at.home,
    files: [],
    secrets,
  };
}

export interface DescribedKey {
  readonly key: string;
  /** Masked. A secret shows as its reference. */
  readonly value: unknown;
  readonly source: KeySource | { readonly kind: "default" };
  /** For a reference: whether the variable it names is set. */
  readonly set?: boolean;
}

export function describeConfig(loaded: Pick<LoadedConfig, "config" | "sources" | "secrets">): DescribedKey[] {
  return leavesOf(loaded.config).flatMap(({ path, value }): DescribedKey[] => {
    if (value === undefined) return [];
    const key = path.join(".");
    const source = loaded.sources[key] ?? { kind: "default" as const };
    const refers = typeof value === "string" && value.startsWith("env:");
    return [
      {
        key,
        value: mapTexts(value, (text) => maskSecrets(text)),
        source,
        ...(refers ? { set: loaded.secrets.resolve(value) !== undefined } : {}),
      },
    ];
  });
}

/** Where a value was set, in a few words. */
export function sourceText(source: DescribedKey["source"]): string {
  if (source.kind === "file") return `${source.file}${source.line === undefined ? "" : `:${source.line}`}`;
  return source.kind === "environment" ? source.variable : source.kind;
}

export async function checkConfig(input: LoadInput = {}) {
  const loaded = await loadConfig(input);
  if (!loaded.ok) return { ok: false, errors: loaded.errors, warnings: [], files: [], unset: [] };
  /** References to variables that are not set, of keys that a file or flag sets (defaults may stay unset). */
  const unset = describeConfig(loaded).flatMap(({ key, value, source, set }) =>
    set === false && source.kind !== "default" ? [{ key, variable: String(value).slice("env:".length) }] : [],
  );
  return { ok: true, errors: [], warnings: loaded.warnings, files: loaded.files, unset };
}
