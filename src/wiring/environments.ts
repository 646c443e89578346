import {
  type EnvironmentManagerDeps,
  ExecutionEnvironmentManager,
  environmentPolicy,
  keepConnections,
  toTextEditorResult,
} from "../application/containers/execution-environment-manager.ts";
import {
  createEnvironmentObserver,
  type EnvironmentObserver,
} from "../application/containers/observe-environments.ts";
import { createModelSide, listEnvironments } from "../application/containers/open-environments.ts";
import type { ContainerInfo, SandboxFailure } from "../application/ports/containers.ts";
import type { OpenEnvironments } from "../application/ports/containers-opened.ts";
import type { NotOpened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { Config } from "../config/config.ts";
import { environmentSettings } from "../config/settings.ts";
import { byForge } from "../domain/config/configured-kinds.ts";
import { credentialFor } from "../domain/containers/clone-plan.ts";
import { environmentImages } from "../domain/containers/environments.ts";
import { allowedCommands, allowedCommandsText } from "../domain/policy/allowed-commands.ts";
import { environmentMessages } from "../domain/texts/containers.ts";
import type { Locale } from "../domain/texts/locale.ts";
import type { ContainerFileThread } from "../infrastructure/containers/container-files.ts";
import { createEnvironmentRecords } from "../infrastructure/containers/environment-records.ts";
import { mayLive, processBirth } from "../infrastructure/platform/process-table.ts";
import { writeAll } from "../infrastructure/platform/standard-streams.ts";
import { lookUp } from "../infrastructure/sandbox/dial.ts";
import type { ContainerToolDeps } from "./container-toolkits.ts";
import { openDocker } from "./docker-sandbox.ts";
import { type Environment, loadShellParser, openServices, type Services } from "./services.ts";

export async function openEnvironments(
  env: Environment,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly environments: OpenEnvironments } | NotOpened> {
  const services = await openServices(env, options);
  if (!services.ok) return services;
  const environments = createEnvironments(services);
  if (!("ok" in environments)) return { ok: true, environments };
  const { code, detail } = environments;
  return services.refuse(environmentMessages(services.locale).failure("engine", code, detail));
}

export interface WiredEnvironments extends OpenEnvironments {
  readonly toolParts: ContainerToolDeps;
}

export function createEnvironments(
  services: Services,
  observer: EnvironmentObserver = createEnvironmentObserver(services.log),
): WiredEnvironments | SandboxFailure {
  const { config, home, env, locale, secrets, messages, warnings } = services;
  const { command_executor: executor } = config;
  const texts = environmentMessages(locale);
  const warn = (message: string) => writeAll(2, `${message}\n`);
  const opened = openDocker({ config: executor, home, env, warn });
  if ("ok" in opened) return opened;
  const { engine } = opened;
  const sandboxes = observer.sandboxes(opened.sandboxes);
  const records = createEnvironmentRecords(home);
  const toolParts = { services, sandboxes, records };
  let files: ContainerFileThread | null = null;
  const connections = keepConnections(async (info) => {
    const { openContainer } = await import("./container-toolkits.ts");
    files ??= (await import("../infrastructure/containers/container-files.ts")).createFileThread(engine);
    return openContainer(toolParts, files, info);
  });
  const invoke = async (info: ContainerInfo, tool: string, args: unknown, signal?: AbortSignal) =>
    (await connections.open(info)).toolkit.invoke(tool, args, { ...(signal && { signal }) });
  const definitions = async () => (await import("../tools/registry/definitions.ts")).environmentDefinitions();
  const preparation = () => import("./environment-preparation.ts");
  const forges = byForge((forge) => ({
    token: secrets.resolve(config.forges[forge].token) ?? null,
    baseUrl: secrets.resolve(config.forges[forge].base_url) ?? null,
  }));
  const deps: EnvironmentManagerDeps = {
    config: environmentSettings(config),
    sandboxes,
    addressesOf: lookUp,
    records,
    environments: environmentImages(executor.environments),
    defaultEnvironment: executor.default_environment,
    async openPreparation() {
      const prepare = (await preparation()).openPreparation(services, { sandboxes, engine });
      return observer.prepare(prepare);
    },
    credentialFor: (source) => credentialFor(source, forges),
    ...commandRules(config, locale),
    definitions,
    callTool: async (info, tool, args, { signal }) =>
      toTextEditorResult(await invoke(info, tool, args, signal)),
    closeTools: connections.close,
    explain: ({ code, subject, detail }) => texts.failure(code, subject, detail),
    pid: process.pid,
    birth: processBirth(process.pid),
    isAlive: ({ pid, birth }) => mayLive(pid, birth),
  };
  return {
    toolParts,
    manager: new ExecutionEnvironmentManager(deps),
    sandboxes,
    modelSide: createModelSide(config, definitions, async () => {
      const prompt = await import("../infrastructure/containers/command-executor-prompt.ts");
      return prompt.commandExecutorPrompt;
    }),
    config,
    messages,
    texts,
    warnings,
    list: () => listEnvironments(sandboxes, records),
    buildImage: async (request) => (await preparation()).buildNamed(services, engine, request),
    callTool: invoke,
    async close() {
      connections.close();
      files?.close();
      await sandboxes.close();
    },
  };
}

/** The policy of commands as environments ask it. The parser of shell commands is loaded with the first command. */
function commandRules(
  config: Pick<Config, "command_executor">,
  locale: Locale,
): Pick<EnvironmentManagerDeps, "refuse" | "allowedCommands" | "allowedCommandsText"> {
  const policy = environmentPolicy(config);
  return {
    allowedCommands: () => allowedCommands(policy),
    allowedCommandsText: () => allowedCommandsText(policy),
    async refuse(command, environment) {
      const parseShell = await loadShellParser();
      const { decideCommand, explainRefusal } = await import("../domain/policy/decide-command.ts");
      const decision = decideCommand(command, environmentPolicy(config, environment), parseShell);
      return decision.allowed ? null : explainRefusal(decision.refusal, locale);
    },
  };
}
