import {
  type EnvironmentManagerDeps,
  ExecutionEnvironmentManager,
} from "../application/containers/execution-environment-manager.ts";
import type { EnvironmentObserver } from "../application/containers/observe-environments.ts";
import type { OpenEnvironments } from "../application/containers/open-environments.ts";
import type { SandboxFailure, SandboxManager } from "../application/ports/containers.ts";
import type { NotOpened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { Config, LoadedConfig } from "../config/config.ts";
import { resolveLocale } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { credentialFor } from "../domain/containers/clone-plan.ts";
import { environmentCommands, environmentImages } from "../domain/containers/image-recipes.ts";
import { byForge } from "../domain/forges/forge-items.ts";
import {
  allowedCommands,
  allowedCommandsText,
  type CommandPolicy,
  createCommandPolicy,
} from "../domain/policy/allowed-commands.ts";
import { createMasker } from "../domain/policy/mask.ts";
import { environmentMessages } from "../domain/texts/containers.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import type { Locale } from "../domain/texts/locale.ts";
import { createEnvironmentRecords } from "../infrastructure/containers/environment-records.ts";
import { lookUp } from "../infrastructure/engine/dial.ts";
import { mayLive, processBirth } from "../infrastructure/engine/process-table.ts";
import type { ContainerToolDeps, ContainerToolkits } from "./container-toolkits.ts";
import { openDockerSandbox, openEngine } from "./docker-sandbox.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Opens task environments: configuration, Docker, images and repositories, all wired by hand. */
export async function openEnvironments(
  env: Environment,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly environments: OpenEnvironments } | NotOpened> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok)
    return { ok: false, exitCode: 2, messages: messagesFor(resolveLocale({ env })), problems: loaded.errors };
  const environments = createEnvironments(env, loaded);
  if (!("ok" in environments)) return { ok: true, environments };
  const { config } = loaded;
  const locale = resolveLocale({ env, config });
  const message = environmentMessages(locale).failure("engine", environments.code, environments.detail);
  return { ok: false, exitCode: 3, messages: messagesFor(locale), problems: [], message };
}

/** The dependencies of a job in a container beside the manager. */
export interface WiredEnvironments extends OpenEnvironments {
  readonly toolParts: ContainerToolDeps;
}

/** The same for a program that has the configuration already. */
export function createEnvironments(
  env: Environment,
  loaded: LoadedConfig,
  observer?: EnvironmentObserver,
): WiredEnvironments | SandboxFailure {
  const { config, home, workspace, secrets } = loaded;
  const locale = resolveLocale({ env, config });
  const texts = environmentMessages(locale);
  const engine = openEngine(config.command_executor.docker, env);
  if ("ok" in engine) return engine;
  const opened = openDockerSandbox({
    config: config.command_executor,
    home,
    env,
    warn: (message) => process.stderr.write(`${message}\n`),
  });
  if ("ok" in opened) return opened;
  const sandboxes = observer?.sandboxes(opened) ?? opened;
  const { mask } = createMasker({ secrets: secrets.values() });
  const records = createEnvironmentRecords(home);
  const made: { toolkits?: ContainerToolkits } = {};
  const toolkits = async (): Promise<ContainerToolkits> => {
    const { createContainerToolkits } = await import("./container-toolkits.ts");
    made.toolkits ??= createContainerToolkits(toolkitParts);
    return made.toolkits;
  };
  const preparation = { env, config, home, workspace, sandboxes, engine, mask };
  const parts: EnvironmentManagerDeps = {
    config: managerConfig(config),
    sandboxes,
    addressesOf: lookUp,
    records,
    environments: environmentImages(config.command_executor.environments),
    defaultEnvironment: config.command_executor.default_environment,
    async openPreparation() {
      const prepare = (await import("./environment-preparation.ts")).openPreparation(preparation);
      return observer?.prepare(prepare) ?? prepare;
    },
    credentialFor: (source) => credentialFor(source, forgeAccess(loaded)),
    ...commandLists(config, locale),
    definitions: async () => {
      const { toolDefinitionsFor } = await import("./container-toolkits.ts");
      return toolDefinitionsFor();
    },
    callTool: async (info, tool, args, { signal }) => {
      const { textResult } = await import("./container-toolkits.ts");
      return textResult(await (await toolkits()).invoke(info, tool, args, { ...(signal && { signal }) }));
    },
    closeTools: (taskUuid) => made.toolkits?.close(taskUuid),
    explain: ({ code, subject, detail }) => texts.failure(code, subject, detail),
    pid: process.pid,
    birth: processBirth(process.pid),
    isAlive: ({ pid, birth }) => mayLive(pid, birth),
  };
  const toolkitParts = { env, config, home, sandboxes, engine, records, mask, locale };
  return {
    toolParts: toolkitParts,
    manager: new ExecutionEnvironmentManager(parts),
    sandboxes,
    async modelSide() {
      const { commandExecutorPrompt } = await import(
        "../infrastructure/containers/command-executor-prompt.ts"
      );
      const { execute, editor } = await parts.definitions();
      return {
        tools: config.command_executor.text_editor.enabled ? [execute, editor] : [execute],
        promptFragment: (environment) => commandExecutorPrompt(policyOf(config, environment)),
      };
    },
    config,
    messages: messagesFor(locale),
    texts,
    warnings: loaded.warnings,
    list: () => listEnvironments(sandboxes, records),
    buildImage: async (request) =>
      (await import("./environment-preparation.ts")).buildNamed(preparation, request),
    callTool: async (info, tool, args, signal) => (await toolkits()).invoke(info, tool, args, { signal }),
    async close() {
      made.toolkits?.close();
      await sandboxes.close();
    },
  };
}

function forgeAccess({ config, secrets }: LoadedConfig) {
  return byForge((forge) => ({
    token: secrets.resolve(config.forges[forge].token) ?? null,
    baseUrl: secrets.resolve(config.forges[forge].base_url) ?? null,
  }));
}

async function listEnvironments(
  sandboxes: SandboxManager,
  records: ReturnType<typeof createEnvironmentRecords>,
): ReturnType<OpenEnvironments["list"]> {
  const listed = await sandboxes.listContainers();
  if (!Array.isArray(listed)) return listed as Exclude<typeof listed, readonly unknown[]>;
  return listed.map((facts) => {
    const record = records.read(facts.taskId);
    return { facts, info: record?.info ?? null, repository: record?.repository ?? null };
  });
}

/** The rules of the proxy, in short; null where there is no proxy. */
function reachableFrom(network: Config["command_executor"]["docker"]["network"]): readonly string[] | null {
  const { external_access: open, whitelist_mode: listed, allowed_domains: domains } = network;
  if (!open && network.allowed_hosts.length === 0) return null;
  return [...(!open ? [] : listed ? domains : ["*:*"]), ...network.allowed_hosts];
}

function managerConfig({ command_executor: executor }: Config): EnvironmentManagerDeps["config"] {
  return {
    enabled: executor.enabled,
    textEditorEnabled: executor.text_editor.enabled,
    shallow: executor.clone.shallow,
    depth: executor.clone.depth,
    timeoutSeconds: executor.execution.timeout_seconds,
    maxOutputBytes: executor.execution.max_output_size,
    staleThresholdHours: executor.cleanup.stale_threshold_hours,
    reachable: reachableFrom(executor.docker.network),
  };
}

/** The lists of allowed and denied commands; the parser of shell commands is loaded with the first command. */
export function commandLists(
  config: Config,
  locale: Locale,
): Pick<EnvironmentManagerDeps, "refuse" | "allowedCommands" | "allowedCommandsText"> {
  const policy = policyOf(config);
  return {
    allowedCommands: () => allowedCommands(policy),
    allowedCommandsText: () => allowedCommandsText(policy),
    async refuse(command, environment) {
      const { parseShell } = await import("../infrastructure/policy/parse-shell.ts");
      const { decideCommand } = await import("../domain/policy/decide-command.ts");
      const decision = decideCommand(command, policyOf(config, environment), parseShell);
      if (decision.allowed) return null;
      const { explainRefusal } = await import("../domain/policy/decide-command.ts");
      return explainRefusal(decision.refusal, locale);
    },
  };
}

/** The lists, and what one environment adds to them. */
function policyOf({ command_executor: executor }: Config, environment?: string): CommandPolicy {
  const named = environment !== undefined && Object.hasOwn(executor.environments, environment);
  return createCommandPolicy(
    executor.allowed_commands,
    named ? environmentCommands(executor.environments[environment]) : [],
  );
}
