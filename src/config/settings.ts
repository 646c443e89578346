import { resolve } from "node:path";
import { type Config, DEFAULTS, type Secrets } from "./config.ts";
import { parseByteSize } from "./scalar-values.ts";

/** Each feature's slice in the code's spelling: sizes as bytes, times as milliseconds, references as values. */
export function modelsSettings(config: Config, secrets: Secrets, home: string) {
  const { providers, roles, ollama, security } = config;
  const named = Object.entries(providers).map(([name, provider]) => [
    name,
    providerSettings(provider, secrets, home),
  ]);
  return {
    providers: Object.fromEntries(named) as Record<string, ReturnType<typeof providerSettings>>,
    roles: {
      chat: roleSettings(config, "chat"),
      worker: roleSettings(config, "worker"),
      coder1: roles.coder1,
      coder2: roles.coder2,
      coder3: roles.coder3,
    },
    ollama: { baseUrl: ollama.base_url, keepAlive: ollama.keep_alive, maxContext: ollama.max_context },
    localOnly: security.local_only,
  };
}

/** The default's model is Ollama's: who only names another provider means that provider's model. */
function roleSettings({ roles, providers }: Config, role: "chat" | "worker") {
  const { provider, model, effort } = roles[role];
  const untouched = provider !== DEFAULTS.roles[role].provider && model === DEFAULTS.roles[role].model;
  const own = providers[provider];
  if (untouched && (own?.model || own?.type === "scripted")) return { provider, model: null, effort };
  return { provider, model, effort, isDefault: model === DEFAULTS.roles[role].model };
}

function providerSettings(provider: Config["providers"][string], secrets: Secrets, home: string) {
  const { type, model, api_key, temperature, effort, local, script } = provider;
  return {
    type,
    model,
    baseUrl: provider.base_url,
    apiKey: secrets.resolve(api_key),
    keyVariable: api_key?.startsWith("env:") ? api_key.slice("env:".length) : undefined,
    maxTokens: provider.max_tokens,
    temperature,
    effort,
    local,
    script: script === null ? null : resolve(home, script),
  };
}

export function modelLimits({ models }: Config) {
  return {
    connectMs: models.connect_timeout * 1000,
    firstTokenMs: models.first_token_timeout * 1000,
    idleMs: models.idle_timeout * 1000,
    retries: models.retries,
  };
}

export function chatSettings({ loop, roles, worker, mcp_servers: servers, coder }: Config) {
  return {
    maxLoops: loop.max_loops,
    maxMillis: loop.max_millis,
    defaultCoder: roles.default_coder,
    measured: roles.measured?.order[0] === roles.default_coder ? roles.measured : null,
    dryRun: worker.dry_run,
    protectedPatterns: worker.protected_patterns,
    mcpServers: Object.keys(servers),
    coder: {
      attempts: coder.attempts,
      localAttempts: coder.local_attempts,
      explore: coder.explore,
      onRed: coder.on_red,
      maxMinutes: coder.max_minutes,
      budgetUsd: coder.budget_usd,
      candidates: coder.candidates,
      subAgents: coder.sub_agents,
      escalate: coder.escalate,
    },
  };
}

/** `worker.network` binds what a model starts as well: `off` is off for all. */
export function modelNetwork({ worker }: Pick<Config, "worker">) {
  const { network, model_network: model } = worker;
  return network.mode === "off" || (network.mode === "allow_list" && model.mode === "on")
    ? { ...model, mode: network.mode }
    : model;
}

export function confinementSettings({ worker, forges }: Config) {
  const { confine, network, limits, allow_ssh_agent: allowSshAgent } = worker;
  const forgeAddresses = Object.values(forges).flatMap(({ base_url: address }) => address ?? []);
  const { home_allow: homeAllow, home_writes: homeWrites } = worker;
  const { memory, file_size: fileSize, open_files: openFiles, processes, disk } = limits;
  return {
    confined: confine !== "off",
    mustConfine: confine === "on" || network.mode !== "on",
    networks: { own: network, model: modelNetwork({ worker }), forges: forgeAddresses },
    limits: { memory, fileSize, openFiles, processes, disk },
    allowSshAgent,
    homeAllow,
    homeWrites,
  };
}

export function processesSettings({ processes }: Config) {
  const { keep, limit, log_limit: logLimitBytes } = processes;
  return { keep, limit, logLimitBytes };
}

export function toolLimits({ tools }: Config) {
  const { max_bytes: applyPatchBytes, max_error_chars: applyPatchErrorChars } = tools.apply_patch;
  return { applyPatchBytes, applyPatchErrorChars };
}

export function toolPolicy({ tools }: Config) {
  const { default: verdict, allow, deny } = tools.policy;
  const said = (names: readonly string[], value: "allow" | "deny") =>
    names.map((name) => [name, value] as const);
  return { default: verdict, tools: Object.fromEntries([...said(allow, "allow"), ...said(deny, "deny")]) };
}

const HOUR_MS = 3_600_000;

export function dockerSettings({ docker, cleanup, pool }: Config["command_executor"]) {
  return {
    stopGraceSeconds: docker.stop_grace,
    mountDockerSocket: docker.mount_docker_socket,
    baseImage: docker.base_image,
    poolSize: pool.size,
    cleanUp: {
      thresholdMs: cleanup.stale_threshold_hours * HOUR_MS,
      // A timer holds 24 days.
      intervalMs: Math.min(cleanup.interval_hours * HOUR_MS, 20 * 24 * HOUR_MS),
    },
  };
}

export function environmentSettings({ command_executor: executor }: Config) {
  return {
    enabled: executor.enabled,
    textEditorEnabled: executor.text_editor.enabled,
    shallow: executor.clone.shallow,
    depth: executor.clone.depth,
    timeoutSeconds: executor.execution.timeout_seconds,
    maxOutputBytes: executor.execution.max_output_size,
    staleThresholdHours: executor.cleanup.stale_threshold_hours,
    reachable: reachableHosts(executor.docker.network),
  };
}

type Network = Config["command_executor"]["docker"]["network"];

/** The rules of the proxy, in short; null where there is no proxy. */
function reachableHosts(network: Network): readonly string[] | null {
  const { external_access: open, whitelist_mode: listed, allowed_domains: domains } = network;
  if (!open && network.allowed_hosts.length === 0) return null;
  return [...(!open ? [] : listed ? domains : ["*:*"]), ...network.allowed_hosts];
}

/** The limits and the network of every container. */
export function containerSettings({ command_executor: { docker } }: Config) {
  const { cpu_limit: cpus, memory_limit: memory, disk_limit: disk } = docker.resources;
  return {
    limits: {
      cpus,
      memoryBytes: parseByteSize(memory) ?? 0,
      pids: docker.pids_limit,
      diskBytes: parseByteSize(disk) ?? 0,
    },
    network: containerNetwork(docker.network),
  };
}

function containerNetwork(network: Network) {
  const { external_access: open, whitelist_mode: listed, allowed_domains: allowedDomains } = network;
  const { allowed_hosts: allowedHosts } = network;
  if (open && !listed) return { mode: "open", allowedHosts } as const;
  if (open) return { mode: "allow-list", allowedDomains, allowedHosts } as const;
  if (allowedHosts.length === 0) return { mode: "none" } as const;
  return { mode: "allow-list", allowedDomains: [] as readonly string[], allowedHosts } as const;
}

/** `worker:` for the jobs in a container, whose commands have limits of their own. */
export function containerWorkerSettings({ worker, command_executor: { execution } }: Config) {
  return {
    ...worker,
    command_timeout: execution.timeout_seconds,
    output_limit: execution.max_output_size,
  };
}

export function preparationSettings(config: Config) {
  const { docker, clone, install, default_environment: defaultEnvironment } = config.command_executor;
  return {
    ...containerSettings(config),
    defaultEnvironment,
    baseImage: docker.base_image,
    mountDockerSocket: docker.mount_docker_socket,
    cloneTimeoutMs: clone.timeout * 1000,
    installTimeoutMs: install.timeout * 1000,
    autoInstall: clone.auto_install_deps,
    insecureHosts: clone.insecure_hosts,
    indexes: {
      ...(install.npm_registry !== null && { npm_config_registry: install.npm_registry }),
      ...(install.pip_index !== null && pipIndex(install.pip_index)),
    },
  };
}

/** The operator chose an index without TLS on purpose; pip needs a second option to accept it. */
function pipIndex(url: string): Readonly<Record<string, string>> {
  const plain = url.startsWith("http:") ? { PIP_TRUSTED_HOST: new URL(url).host } : {};
  return { PIP_INDEX_URL: url, UV_INDEX_URL: url, ...plain };
}

/** A head of the user's works with a key; a person's login is used where `head.login` says so. Other worker CLIs have both. */
export function mayUseLogins({ roles, head }: Config, kind: string): boolean {
  return roles.coder.head !== kind || head.login === "file";
}

export function keyLimits({ tasks }: Config) {
  return { requests: tasks.key_requests, bytes: tasks.key_traffic };
}

/** The labels of this machine that every task can rely on. */
export function machineLabels(config: Config, arch: string): readonly string[] {
  const architecture = arch === "x64" ? "amd64" : arch;
  return config.command_executor.enabled ? ["docker", architecture] : [architecture];
}
