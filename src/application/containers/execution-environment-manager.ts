import type { PrepareEvent, PrepareFailure } from "../../domain/containers/prepare-event.ts";
import { parseRepository } from "../../domain/containers/clone-plan.ts";
import type { ContainerClaim, ExecRequest } from "../ports/containers.ts";
import { categoryNames } from "./category-names.ts";
import { type ContainerInfo, containerName, isTaskUuid } from "../../domain/containers/container-info.ts";
import { EnvironmentError } from "./environment-error.ts";
import { type ExecutionResult, executionResult, withRefusals } from "./execution-result.ts";
import type { EnvironmentManagerDeps, FunctionDefinition, TextEditorResult } from "./manager-parts.ts";
import type { PreparedEnvironment } from "./prepare-request.ts";

/** A task as environments know it. */
export interface EnvironmentTask {
  readonly uuid: string;
  /** An address or a folder. */
  readonly repository: string;
  /** A branch, a tag, or a full name (`refs/pull/5/head`); absent: the default branch. */
  readonly branch?: string;
  /** For a pull or merge request: where it goes. */
  readonly targetBranch?: string;
}

export interface PrepareOptions {
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: PrepareEvent) => void;
  /** Whether the environment outlives this process. Default: it does not. */
  readonly lease?: "process" | "detached";
  /** The image of a worker CLI that is to run in it. */
  readonly worker?: string;
  /** For which claim of its task it is made. */
  readonly claim?: ContainerClaim;
}

export interface CommandOptions {
  readonly signal?: AbortSignal;
  readonly timeoutSeconds?: number;
  readonly onOutput?: ExecRequest["onOutput"];
  /** Commands of one session share working directory and exported variables. */
  readonly session?: string;
  /** A person's own command: the lists are for what a model proposes. */
  readonly byHand?: boolean;
}

const NEVER_ABORTED = new AbortController().signal;

/** One container a task. Programs use this class: its names are public. */
export class ExecutionEnvironmentManager {
  readonly #parts: EnvironmentManagerDeps;
  readonly #active = new Map<string, ContainerInfo>();
  #currentTask: Pick<EnvironmentTask, "uuid"> | null = null;

  constructor(parts: EnvironmentManagerDeps) {
    this.#parts = parts;
  }

  isEnabled(): boolean {
    return this.#parts.config.enabled;
  }

  /** Environment names and their images. */
  getAvailableEnvironments(): Record<string, string> {
    const { environments } = this.#parts;
    return Object.fromEntries(
      Object.entries(environments).map(([name, image]) => [
        name,
        typeof image === "string" ? image : image.dockerfile,
      ]),
    );
  }

  getDefaultEnvironment(): string {
    return this.#parts.defaultEnvironment;
  }

  setCurrentTask(task: Pick<EnvironmentTask, "uuid"> | null): void {
    this.#currentTask = task;
  }

  /** Rejects with an `EnvironmentError` when there is no environment in the end; nothing of it is left then. */
  async prepare(
    task: EnvironmentTask,
    environmentName?: string | null,
    options: PrepareOptions = {},
  ): Promise<ContainerInfo> {
    const prepared = await this.tryPrepare(task, environmentName, options);
    if (!prepared.ok) throw new EnvironmentError(this.#parts.explain(prepared), prepared);
    return prepared.container;
  }

  /** The same, with failures as values and everything that is worth telling. */
  async tryPrepare(
    task: EnvironmentTask,
    environmentName?: string | null,
    options: PrepareOptions = {},
  ): Promise<PreparedEnvironment | PrepareFailure> {
    const { records, config, credentialFor } = this.#parts;
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
      preparing: { pid: this.#parts.pid, birth: this.#parts.birth },
    });
    let prepared: PreparedEnvironment | PrepareFailure | null = null;
    try {
      const prepare = await this.#parts.openPreparation();
      prepared = await prepare({
        taskUuid: uuid,
        source,
        credential: credentialFor(source),
        range: {
          depth: config.shallow ? config.depth : null,
          ...(task.branch !== undefined && { ref: task.branch }),
          ...(task.targetBranch !== undefined && { target: task.targetBranch }),
        },
        ...(environmentName != null && { environmentName }),
        ...(options.worker !== undefined && { worker: options.worker }),
        lease: options.lease ?? "process",
        ...(options.claim !== undefined && { claim: options.claim }),
        signal: options.signal ?? NEVER_ABORTED,
        ...(options.onEvent !== undefined && { onEvent: options.onEvent }),
      });
      return prepared;
    } finally {
      if (prepared?.ok) {
        records.save({ info: prepared.container, image: prepared.image, repository: origin });
        this.#active.set(uuid, prepared.container);
      } else if (records.read(uuid)?.preparing?.pid === this.#parts.pid) records.remove(uuid);
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
    const { config, sandboxes, refuse } = this.#parts;
    const refusal = options.byHand === true ? null : await refuse(command, info.environment_name);
    if (refusal !== null)
      return { exit_code: -1, stdout: "", stderr: `Command execution error: ${refusal}`, duration_ms: 0 };
    const timeoutSeconds = options.timeoutSeconds ?? config.timeoutSeconds;
    const result = await sandboxes.exec(info.container_id, {
      command,
      cwd: workingDirectory ?? info.workspace_path,
      timeoutMs: timeoutSeconds * 1000,
      outputLimitBytes: config.maxOutputBytes,
      ...(options.signal !== undefined && { signal: options.signal }),
      ...(options.onOutput !== undefined && { onOutput: options.onOutput }),
      ...(options.session !== undefined && { session: options.session }),
    });
    const told = executionResult(result, timeoutSeconds);
    return withRefusals(command, told, config.reachable, this.#parts.addressesOf);
  }

  /** Removes a task's container with its volumes and network: that of the claim, where one is named. What is gone already is fine. */
  async cleanup(
    taskUuid: string,
    options: { readonly signal?: AbortSignal; readonly claim?: ContainerClaim } = {},
  ) {
    const { sandboxes, records } = this.#parts;
    const name = containerName(taskUuid);
    const found = await sandboxes.findContainer(name, options.signal);
    const removal = await sandboxes.stopContainer(name, options);
    // A successor has the task: another process, or this one.
    const isAnothers = !removal.removed && removal.leftovers.length === 0;
    if (isAnothers && found?.ok && found.id === this.#active.get(taskUuid)?.container_id) return removal;
    this.#parts.closeTools(taskUuid);
    this.#active.delete(taskUuid);
    if (removal.removed) records.remove(taskUuid);
    return found === undefined ? { ...removal, removed: false } : removal;
  }

  /** Removes what dead processes and old tasks left, and says how many containers that were. */
  async cleanupStaleContainers(options: { readonly signal?: AbortSignal } = {}): Promise<number> {
    const { sandboxes, records, config } = this.#parts;
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
    return this.#active.get(taskUuid) ?? this.#parts.records.read(taskUuid)?.info ?? null;
  }

  /** By category: build_package, test, … */
  getAllowedCommands(): Readonly<Record<string, readonly string[]>> {
    return categoryNames(this.#parts.allowedCommands());
  }

  getAllowedCommandsText(): string {
    return this.#parts.allowedCommandsText();
  }

  /** Empty while the feature is off. */
  async getFunctionCallingFunctions(): Promise<readonly FunctionDefinition[]> {
    return this.isEnabled() ? [(await this.#parts.definitions()).execute] : [];
  }

  async getFunctionCallingTools() {
    return (await this.getFunctionCallingFunctions()).map(toFunctionTool);
  }

  isTextEditorEnabled(): boolean {
    return this.isEnabled() && this.#parts.config.textEditorEnabled;
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
    return this.#parts.callTool(info, tool, given, options);
  }

  async getTextEditorFunctions(): Promise<readonly FunctionDefinition[]> {
    return this.isTextEditorEnabled() ? [(await this.#parts.definitions()).editor] : [];
  }

  async getTextEditorTools() {
    return (await this.getTextEditorFunctions()).map(toFunctionTool);
  }

  /** Environments whose preparation was killed: nobody else knows that they are of no use. */
  private async removeAbandoned(signal: AbortSignal | undefined): Promise<number> {
    const { records, isAlive } = this.#parts;
    let removed = 0;
    for (const { info, preparing } of records.list()) {
      if (preparing === undefined || isAlive(preparing)) continue;
      const removal = await this.cleanup(info.task_uuid, { ...(signal !== undefined && { signal }) });
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

function badInputFailure(subject: string, detail: string): PrepareFailure {
  return { ok: false, code: "bad-input", subject, detail, remedy: "check-name" };
}
