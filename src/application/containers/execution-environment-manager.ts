import type { Config } from "../../config/config.ts";
import {
  type Credential,
  parseRepository,
  type RepositorySource,
} from "../../domain/containers/clone-plan.ts";
import { containerName, environmentCommands, isTaskUuid } from "../../domain/containers/environments.ts";
import {
  type AddressesOf,
  badInputFailure,
  type PrepareEvent,
  type PrepareFailure,
  refusedHosts,
  refusedText,
} from "../../domain/containers/preparation.ts";
import { type CommandPolicy, createCommandPolicy } from "../../domain/policy/allowed-commands.ts";
import {
  type ContainerClaim,
  type ContainerInfo,
  EnvironmentError,
  type EnvironmentRecords,
  type ExceededLimit,
  type ExecRequest,
  type ExecResult,
  type SandboxManager,
} from "../ports/containers.ts";
import type { ToolEnvelope } from "../ports/tools.ts";
import type { ImageChoice } from "./ensure-image.ts";
import type { PreparedEnvironment, PrepareRequest } from "./prepare-environment.ts";

/** The public form of a text editor's answer. */
export interface TextEditorResult {
  readonly success: boolean;
  readonly content: string;
  readonly error: string;
}

export function toTextEditorResult(result: ToolEnvelope): TextEditorResult {
  if (result.status !== "success") return { success: false, content: "", error: result.message };
  const { data, notes = [] } = result;
  const content = (data as { content?: string } | undefined)?.content;
  const text = content ?? (data === undefined ? "" : typeof data === "string" ? data : JSON.stringify(data));
  return { success: true, content: [text, ...notes].filter((part) => part !== "").join("\n"), error: "" };
}

export interface FunctionDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

interface ManagerConfig {
  readonly enabled: boolean;
  readonly textEditorEnabled: boolean;
  readonly shallow: boolean;
  readonly depth: number;
  readonly timeoutSeconds: number;
  readonly maxOutputBytes: number;
  readonly staleThresholdHours: number;
  /** The addresses that the network's rules allow; null without a network. */
  readonly reachable: readonly string[] | null;
}

export type Prepare = (request: PrepareRequest) => Promise<PreparedEnvironment | PrepareFailure>;

export interface EnvironmentManagerDeps {
  readonly config: ManagerConfig;
  /** The part of the configuration that is needed without preparing anything. */
  readonly environments: Readonly<Record<string, ImageChoice>>;
  readonly defaultEnvironment: string;
  /** Loaded when something is prepared: running a command needs none of it. */
  readonly openPreparation: () => Promise<Prepare>;
  readonly addressesOf: AddressesOf;
  readonly sandboxes: SandboxManager;
  readonly records: EnvironmentRecords;
  readonly credentialFor: (source: RepositorySource) => Credential | null;
  /** Null if the command may run in that environment, else why it may not. Loaded at the first call. */
  readonly refuse: (command: string, environmentName: string) => Promise<string | null>;
  readonly allowedCommands: () => Readonly<Record<string, readonly string[]>>;
  readonly allowedCommandsText: () => string;
  readonly definitions: () => Promise<{
    readonly execute: FunctionDefinition;
    readonly editor: FunctionDefinition;
  }>;
  readonly callTool: (
    info: ContainerInfo,
    tool: string,
    args: unknown,
    options: { readonly signal?: AbortSignal },
  ) => Promise<TextEditorResult>;
  readonly closeTools: (taskUuid: string) => void;
  readonly explain: (failure: PrepareFailure) => string;
  readonly pid: number;
  readonly birth: string;
  /** Whether a process still runs; true if that cannot be determined. */
  readonly isAlive: (process: { readonly pid: number; readonly birth?: string }) => boolean;
}

/** Programs see the categories by these names; the prompt has headings instead. */
const CATEGORIES: Readonly<Record<string, string>> = {
  "Build/Package Management": "build_package",
  "Test Execution": "test",
  "Linter/Formatter": "linter_formatter",
  "File Operations": "file_operations",
  "Version Control": "version_control",
  Utilities: "utilities",
};

/** The public shape of a command's result. */
export interface ExecutionResult {
  /** -1 if the command was ended before it finished. */
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration_ms: number;
}

/** An engine's result in the public shape. The command's output so far stays; the reason is last. */
export function executionResult(result: ExecResult, timeoutSeconds: number): ExecutionResult {
  const { stdout, stderr } = result;
  const as = (exitCode: number, errors: string): ExecutionResult => ({
    exit_code: exitCode,
    stdout,
    stderr: errors,
    duration_ms: Math.round(result.durationMs),
  });
  const said = (why: string) => addLine(stderr, why);
  switch (result.outcome) {
    case "exited":
    case "signaled": {
      const exitCode = result.exitCode ?? -1;
      const why = result.limit === undefined ? null : limitText(result.limit);
      return as(exitCode, why === null ? stderr : said(why));
    }
    case "timed-out":
      return as(-1, said(`Command timeout after ${timeoutSeconds} seconds`));
    case "aborted":
    case "disconnected":
    case "not-started": {
      const why = result.failure?.detail ?? result.outcome;
      return as(-1, said(`Command execution error: ${why}`));
    }
  }
}

/** If our own rules refused a failed command's host, its result says so. */
async function withRefusals(
  command: string,
  result: ExecutionResult,
  reachable: readonly string[] | null,
  addressesOf: AddressesOf,
): Promise<ExecutionResult> {
  if (result.exit_code === 0) return result;
  const hosts = await refusedHosts(
    { command, output: `${result.stdout}\n${result.stderr}` },
    reachable,
    addressesOf,
  );
  if (hosts.length === 0) return result;
  return { ...result, stderr: addLine(result.stderr, refusedText(hosts)) };
}

function addLine(text: string, line: string): string {
  return text === "" ? line : `${text.replace(/\n?$/, "\n")}${line}`;
}

function limitText(limit: ExceededLimit): string {
  switch (limit.kind) {
    case "memory":
      return `out of memory (limit ${shortSize(limit.limitBytes)})`;
    case "disk":
      return `out of disk space (limit ${shortSize(limit.limitBytes)})`;
    case "processes":
      return `too many processes (limit ${limit.limit})`;
  }
}

/** As Docker writes sizes: 4g, 512m. */
function shortSize(bytes: number): string {
  for (const [unit, size] of [
    ["g", 1024 ** 3],
    ["m", 1024 ** 2],
    ["k", 1024],
  ] as const)
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))}${unit}`;
  return String(bytes);
}

export interface EnvironmentTask {
  readonly uuid: string;
  /** An address or a folder. */
  readonly repository: string;
  /** A branch, a tag, or a full name (`refs/pull/5/head`); absent: the default branch. */
  readonly branch?: string;
  /** For a pull or merge request: its target branch. */
  readonly targetBranch?: string;
}

export interface PrepareOptions {
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: PrepareEvent) => void;
  /** Whether the environment outlives this process. Default: it does not. */
  readonly lease?: "process" | "detached";
  /** The image of the worker CLI that will run in it. */
  readonly worker?: string;
  /** The claim of its task for which it is created. */
  readonly claim?: ContainerClaim;
}

export interface CommandOptions {
  readonly signal?: AbortSignal;
  readonly timeoutSeconds?: number;
  readonly onOutput?: ExecRequest["onOutput"];
  /** Commands of one session share working directory and exported variables. */
  readonly session?: string;
  /** A user's own command: the lists of commands apply only to what a model proposes. */
  readonly byHand?: boolean;
}

const NEVER_ABORTED = new AbortController().signal;

/** One container a task. Programs use this class: its names are public. */
export class ExecutionEnvironmentManager {
  readonly #deps: EnvironmentManagerDeps;
  readonly #active = new Map<string, ContainerInfo>();
  #currentTask: Pick<EnvironmentTask, "uuid"> | null = null;

  constructor(deps: EnvironmentManagerDeps) {
    this.#deps = deps;
  }

  isEnabled(): boolean {
    return this.#deps.config.enabled;
  }

  getAvailableEnvironments(): Record<string, string> {
    const { environments } = this.#deps;
    return Object.fromEntries(
      Object.entries(environments).map(([name, image]) => [
        name,
        typeof image === "string" ? image : image.dockerfile,
      ]),
    );
  }

  getDefaultEnvironment(): string {
    return this.#deps.defaultEnvironment;
  }

  setCurrentTask(task: Pick<EnvironmentTask, "uuid"> | null): void {
    this.#currentTask = task;
  }

  /** Rejects with an `EnvironmentError` if no environment could be created, and leaves nothing behind then. */
  async prepare(
    task: EnvironmentTask,
    environmentName?: string | null,
    options: PrepareOptions = {},
  ): Promise<ContainerInfo> {
    const prepared = await this.tryPrepare(task, environmentName, options);
    if (!prepared.ok) throw new EnvironmentError(this.#deps.explain(prepared), prepared);
    return prepared.container;
  }

  /** The same, with failures as values and with all notices. */
  async tryPrepare(
    task: EnvironmentTask,
    environmentName?: string | null,
    options: PrepareOptions = {},
  ): Promise<PreparedEnvironment | PrepareFailure> {
    const { records, config, credentialFor } = this.#deps;
    const { uuid, repository } = task;
    if (!isTaskUuid(uuid)) return badInputFailure(uuid, "not a task's id: letters, digits, '.', '_' and '-'");
    const parsed = parseRepository(repository);
    if (!parsed.ok) return badInputFailure(repository, `not a repository: ${parsed.reason}`);
    const { source } = parsed;
    this.#active.delete(uuid);
    await this.removeAbandoned(options.signal);
    const origin = source.kind === "remote" ? source.url : source.path;
    records.save({
      info: {
        container_id: "",
        task_uuid: uuid,
        environment_name: environmentName ?? this.getDefaultEnvironment(),
        workspace_path: "/workspace/project",
        created_at: new Date().toISOString(),
        status: "created",
      },
      image: "",
      repository: origin,
      preparing: { pid: this.#deps.pid, birth: this.#deps.birth },
    });
    let prepared: PreparedEnvironment | PrepareFailure | null = null;
    try {
      const prepare = await this.#deps.openPreparation();
      prepared = await prepare({
        taskUuid: uuid,
        source,
        credential: credentialFor(source),
        range: {
          depth: config.shallow ? config.depth : null,
          ref: task.branch,
          target: task.targetBranch,
        },
        ...options,
        lease: options.lease ?? "process",
        signal: options.signal ?? NEVER_ABORTED,
        environmentName: environmentName ?? undefined,
      });
      return prepared;
    } finally {
      if (prepared?.ok) {
        records.save({ info: prepared.container, image: prepared.image, repository: origin });
        this.#active.set(uuid, prepared.container);
      } else if (records.read(uuid)?.preparing?.pid === this.#deps.pid) records.remove(uuid);
    }
  }

  /** Rejects with an `EnvironmentError` when no task is set or its environment is not ready. */
  async executeCommand(
    command: string,
    workingDirectory?: string | null,
    options: CommandOptions = {},
  ): Promise<ExecutionResult> {
    return this.executeIn(this.currentContainer(), command, workingDirectory, options);
  }

  /** The same for a task that is not the current one. */
  async executeIn(
    info: ContainerInfo,
    command: string,
    workingDirectory?: string | null,
    options: CommandOptions = {},
  ): Promise<ExecutionResult> {
    const { config, sandboxes, refuse } = this.#deps;
    const refusal = options.byHand === true ? null : await refuse(command, info.environment_name);
    if (refusal !== null)
      return { exit_code: -1, stdout: "", stderr: `Command execution error: ${refusal}`, duration_ms: 0 };
    const timeoutSeconds = options.timeoutSeconds ?? config.timeoutSeconds;
    const result = await sandboxes.exec(info.container_id, {
      command,
      cwd: workingDirectory ?? info.workspace_path,
      timeoutMs: timeoutSeconds * 1000,
      outputLimitBytes: config.maxOutputBytes,
      signal: options.signal,
      onOutput: options.onOutput,
      session: options.session,
    });
    const executed = executionResult(result, timeoutSeconds);
    return withRefusals(command, executed, config.reachable, this.#deps.addressesOf);
  }

  /** Removes a task's container with its volumes and network: that of the claim, if one is named. Does nothing if it is missing. */
  async cleanup(
    taskUuid: string,
    options: { readonly signal?: AbortSignal | undefined; readonly claim?: ContainerClaim } = {},
  ) {
    const { sandboxes, records } = this.#deps;
    const name = containerName(taskUuid);
    const found = await sandboxes.findContainer(name, options.signal);
    const removal = await sandboxes.stopContainer(name, options);
    // A successor has the task: another process, or this one.
    const isAnothers = !removal.removed && removal.leftovers.length === 0;
    if (isAnothers && found?.ok && found.id === this.#active.get(taskUuid)?.container_id) return removal;
    this.#deps.closeTools(taskUuid);
    this.#active.delete(taskUuid);
    if (removal.removed) records.remove(taskUuid);
    return found === undefined ? { ...removal, removed: false } : removal;
  }

  /** Removes what dead processes and old tasks left, and returns the number of removed containers. */
  async cleanupStaleContainers(options: { readonly signal?: AbortSignal } = {}): Promise<number> {
    const { sandboxes, records, config } = this.#deps;
    const removed = await this.removeAbandoned(options.signal);
    const cleaned = await sandboxes.cleanupStaleContainers({
      thresholdMs: config.staleThresholdHours * 3_600_000,
      liveTasks: new Set(this.#active.keys()),
      images: true,
      ...options,
    });
    if (!cleaned.ok) throw new EnvironmentError(cleaned.detail);
    for (const name of cleaned.containers) records.remove(name.replace(containerName(""), ""));
    return removed + cleaned.containers.length;
  }

  getContainerInfo(taskUuid: string): ContainerInfo | null {
    return this.#active.get(taskUuid) ?? this.#deps.records.read(taskUuid)?.info ?? null;
  }

  /** By category: build_package, test, … */
  getAllowedCommands(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(
      Object.entries(this.#deps.allowedCommands()).map(([title, commands]) => [
        CATEGORIES[title] ?? title.toLowerCase(),
        commands,
      ]),
    );
  }

  getAllowedCommandsText(): string {
    return this.#deps.allowedCommandsText();
  }

  /** Empty while the feature is off. */
  async getFunctionCallingFunctions(): Promise<readonly FunctionDefinition[]> {
    return this.isEnabled() ? [(await this.#deps.definitions()).execute] : [];
  }

  async getFunctionCallingTools() {
    return (await this.getFunctionCallingFunctions()).map(toFunctionTool);
  }

  isTextEditorEnabled(): boolean {
    return this.isEnabled() && this.#deps.config.textEditorEnabled;
  }

  /** Rejects with an `EnvironmentError` when no task is set or its environment is not ready. */
  async callTextEditorTool(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<TextEditorResult> {
    const info = this.currentContainer();
    const given = Object.fromEntries(
      Object.entries(args).filter(([, value]) => value !== null && value !== undefined),
    );
    return this.#deps.callTool(info, tool, given, options);
  }

  async getTextEditorFunctions(): Promise<readonly FunctionDefinition[]> {
    return this.isTextEditorEnabled() ? [(await this.#deps.definitions()).editor] : [];
  }

  async getTextEditorTools() {
    return (await this.getTextEditorFunctions()).map(toFunctionTool);
  }

  /** Environments whose preparation was killed: only this process knows that they are unusable. */
  private async removeAbandoned(signal: AbortSignal | undefined): Promise<number> {
    const { records, isAlive } = this.#deps;
    let removed = 0;
    for (const { info, preparing } of records.list()) {
      if (preparing === undefined || isAlive(preparing)) continue;
      const removal = await this.cleanup(info.task_uuid, { signal });
      if (removal.removed) removed += 1;
    }
    return removed;
  }

  private currentContainer(): ContainerInfo {
    const task = this.#currentTask;
    if (task === null) throw new EnvironmentError("No current task set");
    const info = this.getContainerInfo(task.uuid);
    if (info === null || info.status !== "ready")
      throw new EnvironmentError(`Execution environment is not ready for task: ${task.uuid}`);
    return info;
  }
}

function toFunctionTool(definition: FunctionDefinition) {
  return { type: "function" as const, function: definition };
}

/** The lists of allowed and denied commands, with the commands that one environment adds to them. */
export function environmentPolicy(
  { command_executor: executor }: Pick<Config, "command_executor">,
  environment?: string,
): CommandPolicy {
  const named = environment !== undefined && Object.hasOwn(executor.environments, environment);
  return createCommandPolicy(
    executor.allowed_commands,
    named ? environmentCommands(executor.environments[environment]) : [],
  );
}

/** Open containers, one a task. One that was used stays connected: the next call takes a millisecond, not a tenth of a second. */
export function keepConnections<
  OpenedWorkspace extends { readonly workspace: { isBroken(): boolean; close(): void } },
>(
  connect: (info: ContainerInfo) => Promise<OpenedWorkspace>,
): { open(info: ContainerInfo): Promise<OpenedWorkspace>; close(taskUuid?: string): void } {
  const kept = new Map<string, { readonly container: string; readonly opened: Promise<OpenedWorkspace> }>();
  const close = (taskUuid: string) => {
    void kept.get(taskUuid)?.opened.then(
      ({ workspace }) => workspace.close(),
      () => {},
    );
    kept.delete(taskUuid);
  };
  return {
    async open(info) {
      const { task_uuid: task, container_id: container } = info;
      const known = kept.get(task);
      if (known?.container === container) {
        const opened = await known.opened.catch(() => null);
        if (opened !== null && !opened.workspace.isBroken()) return opened;
      }
      close(task);
      const opened = connect(info);
      kept.set(task, { container, opened });
      return opened;
    },
    close(taskUuid) {
      for (const task of taskUuid === undefined ? [...kept.keys()] : [taskUuid]) close(task);
    },
  };
}
