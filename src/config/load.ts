import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "./config.ts";
import { DEFAULTS } from "./defaults.ts";
import { type Env, settingVariables } from "./environment.ts";
import { homeConfigFile, resolveHome, workspaceConfigFile } from "./home.ts";
import type { ConfigFile, KeySource, LoadInput, LoadResult } from "./loaded.ts";
import { createSecrets } from "./secrets.ts";
import { leavesOf, mergeTrees, type Tree } from "./tree.ts";
import { hasUsualVariables } from "./usual-variables.ts";

const LARGEST_FILE = 1024 * 1024;

/**
 * What other programs' variables say, files, the environment, flags; each key from the last that sets it.
 *
 * Without a file and without a variable this is the plain defaults and loads no library. Otherwise
 * `layers.ts` is imported, with zod, and yaml when there is a file.
 */
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
  const config = mergeTrees(mergeTrees(structuredClone(DEFAULTS), environment), at.flags) as Config;
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
