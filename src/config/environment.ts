import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Light on purpose: the start of every command asks it whether there is anything to validate. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Names that are not made of a key's path, and the keys they set. */
export const SHORT_VARIABLES: Readonly<Record<string, string>> = {
  PICOCLAW_WORKER_COMMIT_PREFIX: "worker.commit_message_prefix",
  PICOCLAW_DRY_RUN: "worker.dry_run",
  COMMAND_EXECUTOR_ENABLED: "command_executor.enabled",
  DOCKER_HOST: "command_executor.docker.host",
  EXECUTOR_BASE_IMAGE: "command_executor.docker.base_image",
  EXECUTOR_CPU_LIMIT: "command_executor.docker.resources.cpu_limit",
  EXECUTOR_MEMORY_LIMIT: "command_executor.docker.resources.memory_limit",
  EXECUTOR_TIMEOUT: "command_executor.execution.timeout_seconds",
  GITLAB_API_URL: "forges.gitlab.base_url",
  OTEL_EXPORTER_OTLP_ENDPOINT: "telemetry.otlp_endpoint",
  OTEL_SERVICE_NAME: "telemetry.service_name",
};

const PREFIX = "PICOCLAW_";
/** Known, but no keys: where things are, which language, who may use the MCP server, and what tests use. */
const OWN = /^PICOCLAW_(?:HOME|LOCALE|MCP_TOKEN|TEST_.*)$/;

/** Set variables that may set a key, short names first so that the full name wins. An empty one counts as unset. */
export function settingVariables(env: Env): string[] {
  const short = Object.keys(SHORT_VARIABLES).filter((name) => isSet(env, name));
  const own = Object.keys(env).filter(
    (name) =>
      name.startsWith(PREFIX) && !OWN.test(name) && !Object.hasOwn(SHORT_VARIABLES, name) && isSet(env, name),
  );
  return [...short, ...own.sort()];
}

function isSet(env: Env, name: string): boolean {
  return env[name] !== undefined && env[name] !== "";
}

/** `worker.auto_commit` → `PICOCLAW_WORKER_AUTO_COMMIT` */
export function variableOf(path: readonly string[]): string {
  return (
    PREFIX +
    path
      .join("_")
      .replace(/[^A-Za-z0-9]/g, "_")
      .toUpperCase()
  );
}

/** `PICOCLAW_HOME`, else `~/.picoclaw`. */
export function resolveHome(env: Env): string {
  const own = env.PICOCLAW_HOME;
  if (own !== undefined && own !== "") return resolve(own);
  const home = env.HOME;
  return join(home !== undefined && home !== "" ? home : homedir(), ".picoclaw");
}

export function homeConfigFile(home: string): string {
  return join(home, "config.yaml");
}

export function workspaceConfigFile(workspace: string): string {
  return join(workspace, "picoclaw.yaml");
}

/** Whether PicoClaw is set up: a file, or the key of a provider. */
export function isConfigured(env: Env, cwd: string): boolean {
  return (
    [homeConfigFile(resolveHome(env)), workspaceConfigFile(cwd)].some((file) => existsSync(file)) ||
    Object.keys(env).some((name) =>
      /^(?:ANTHROPIC|OPENAI|OPENROUTER|DEEPSEEK|GEMINI|GOOGLE)_API_KEY$/.test(name),
    )
  );
}
