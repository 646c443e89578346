/** The public library surface: a patch carried out as a job, jobs taken back, and the agent's tools, in this process. */

import type { ExecutionEnvironmentManager } from "./application/containers/execution-environment-manager.ts";
import type { Conversation } from "./application/ports/chat.ts";
import type { SandboxManager } from "./application/ports/containers.ts";
import type { JobEvent, StoredJob } from "./application/ports/jobs.ts";
import type {
  NotOpened,
  OpenedWorkspace,
  OpenOptions,
  TakeBack,
} from "./application/ports/jobs-workspace.ts";
import type { Models } from "./application/ports/models.ts";
import type { WorkerChoices, WorkerExecutor } from "./application/ports/tasks.ts";
import { listProblems } from "./domain/texts/config-problem.ts";
import { messagesFor } from "./domain/texts/jobs.ts";
import {
  type CommandResultJson,
  formatResults,
  type ResultJson,
  toResultJson,
} from "./domain/texts/jobs-report.ts";
import type { Locale } from "./domain/texts/locale.ts";
import type { ToolContext } from "./tools/tool-context.ts";
import { openToolContext, type ToolContextChoices } from "./wiring/toolkit.ts";
import { openWorkspace } from "./wiring/workspace.ts";

export type {
  EnvironmentTask,
  ExecutionResult,
} from "./application/containers/execution-environment-manager.ts";
export type { ChatEvent, Conversation, IncomingMessage, Reply } from "./application/ports/chat.ts";
export type {
  ContainerFacts,
  ContainerInfo,
  ContainerSpec,
  ExecRequest,
  ExecResult,
  SandboxFailure,
  SandboxManager,
  StartedContainer,
} from "./application/ports/containers.ts";
export type { Workspace } from "./application/ports/jobs-workspace.ts";
export type {
  Model,
  ModelAnswer,
  ModelCheck,
  ModelEvent,
  ModelFailure,
  ModelMessage,
  ModelRequest,
  ModelRole,
  Models,
  ModelTool,
  ModelUsage,
  ToolCall,
} from "./application/ports/models.ts";
export type { WorkspaceFiles } from "./application/ports/platform-view.ts";
export type {
  ExecutorStarted,
  RunOptions,
  WorkerExecutor,
  WorkerProgress,
} from "./application/ports/tasks.ts";
export type { Change } from "./domain/jobs/result.ts";
export { parsePatch } from "./domain/patch/parse-patch.ts";
export type { ParseFailure, ParseResult, PatchCommand } from "./domain/patch/patch-command.ts";
export type { TestRun, WorkerRun } from "./domain/tasks/task-record.ts";
export { ToolCatalog, type ToolName } from "./tools/catalog.ts";
export {
  type CallOptions,
  createSecureTool,
  type SecureTool,
  type ToolSpec,
} from "./tools/create-secure-tool.ts";
export { createApplyPatch } from "./tools/edit/apply_patch/tool.ts";
export { TOOL_DEFINITIONS, type ToolDefinition, toolDefinitions } from "./tools/registry/definitions.ts";
export type { ToolPolicy, WriteScope } from "./tools/tool-context.ts";
export type { ToolErrorCode, ToolFailure, ToolResult, ToolSuccess } from "./tools/tool-result.ts";
export { ToolError } from "./tools/tool-result.ts";
export { type AgentToolkit, createAgentToolkit } from "./tools/toolkit.ts";
export type { ExecutionEnvironmentManager, JobEvent, StoredJob, TakeBack, ToolContext, WorkerChoices };
export type CommandResult = CommandResultJson;
export type PatchExecutionResult = ResultJson;

export interface WorkspaceOptions {
  /** The folder that the job may touch; default: the current one. */
  readonly workspace?: string;
  /** Instead of `PICOCLAW_HOME`. */
  readonly home?: string;
  readonly configFile?: string;
  /** Default: this process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface ExecuteOptions extends WorkspaceOptions {
  /** The coder's plan; its first line titles the job. */
  readonly plan?: string;
  /** Jobs of one group are taken back together. */
  readonly groupId?: string;
  readonly sessionKey?: string;
  /** Whose commands the patch has. A model's reach the hosts of `worker.model_network` alone. Default: `user`. */
  readonly startedBy?: "user" | "model";
  /** These default to the configuration. */
  readonly dryRun?: boolean;
  readonly stopOnError?: boolean;
  readonly autoCommit?: boolean;
  readonly preview?: boolean;
  readonly atomic?: boolean;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: JobEvent) => void;
}

/** Nothing ran: the text is not a patch, the configuration is not valid, or the workspace cannot be used. */
export class WorkerError extends Error {
  constructor(
    readonly code: string,
    message: string,
    /** Details for a program: the parse failure, the refusal, the configuration's problems. */
    readonly details: unknown,
  ) {
    super(message);
    this.name = "WorkerError";
  }
}

/** Carries out a patch as one job. A command that fails is in the result; only a job that never began throws. */
export async function executeWorkerPatch(
  patch: string,
  options: ExecuteOptions = {},
): Promise<PatchExecutionResult> {
  const { workspace, messages } = await open(options);
  const { workspace: _w, home: _h, configFile: _c, env: _e, ...request } = options;
  const { signal = new AbortController().signal } = request;
  const result = await workspace.execute({ startedBy: "user", ...request, patch, source: "library", signal });
  if (result.about === "job") return toResultJson(messages, result);
  const { why } = result;
  if (why.kind === "refused") throw new WorkerError(why.refusal.code, why.refusal.message, why.refusal);
  const { kind: _, ...failure } = why;
  throw new WorkerError(failure.code, `patch parse error: ${failure.message}`, failure);
}

/** A workspace for the agent's tools: `createAgentToolkit(await createToolContext({ workspace }))`. The configuration has the defaults. */
export async function createToolContext(
  options: WorkspaceOptions & ToolContextChoices = {},
): Promise<ToolContext> {
  const { workspace: _w, home: _h, configFile: _c, env: _e, ...choices } = options;
  const opened = await openToolContext(...place(options), choices);
  return opened.ok ? opened.context : refuse(opened);
}

/** The configured models: `(await openModels()).forRole("coder3")`. Nothing is contacted until one is asked. */
export async function openModels(options: WorkspaceOptions = {}): Promise<Models> {
  const [env, { cwd, workspace, configFile }] = place(options);
  const { loadConfig } = await import("./config/load.ts");
  const { resolveLocale } = await import("./domain/texts/locale.ts");
  const loaded = await loadConfig({ env, cwd, workspace, configFile });
  if (!loaded.ok) {
    const messages = messagesFor(resolveLocale({ env }));
    return refuse({ ok: false, exitCode: 2, messages, problems: loaded.errors });
  }
  const { config, secrets, home } = loaded;
  const wiring = await import("./wiring/models.ts");
  return wiring.openModels(config, secrets, { env, home, locale: resolveLocale({ env, config }) });
}

/**
 * The conversation (docs/chat.md): `handle` never rejects, and answers a chat's messages in order. `models` of your own replace the
 * configured ones. `close` waits for what still runs behind the last reply.
 */
export async function openConversation(
  options: WorkspaceOptions & { readonly models?: Models } = {},
): Promise<{ readonly conversation: Conversation; close(): Promise<void> }> {
  const { openChat } = await import("./wiring/chat.ts");
  const { models } = options;
  const opened = await openChat(...place(options), { ...(models !== undefined && { models }) });
  return opened.ok ? { conversation: opened.conversation, close: () => opened.close() } : refuse(opened);
}

/** Task environments (docs/environments.md): one container a task. `close` hangs up and leaves containers where they are. */
export async function openEnvironments(
  options: WorkspaceOptions = {},
): Promise<{ readonly manager: ExecutionEnvironmentManager; close(): Promise<void> }> {
  const wiring = await import("./wiring/environments.ts");
  const opened = await wiring.openEnvironments(...place(options));
  return opened.ok ? opened.environments : refuse(opened);
}

/**
 * A worker CLI on a workspace (docs/tasks.md): `start`, any number of `runWorker` and `runTest`, then `close`, which stops its
 * container. Each run is a job of the group `taskId`, to be shown and taken back like any other.
 */
export async function openWorkerExecutor(
  options: WorkspaceOptions & WorkerChoices,
): Promise<{ readonly taskId: string; readonly executor: WorkerExecutor; close(): Promise<void> }> {
  const wiring = await import("./wiring/tasks.ts");
  const opened = await wiring.openWorkerExecutor(...place(options), options);
  return opened.ok ? opened : refuse(opened);
}

/** Containers on the configured engine (docs/environments.md). Nothing is contacted until something is asked. */
export async function openSandbox(options: WorkspaceOptions = {}): Promise<SandboxManager> {
  const wiring = await import("./wiring/tasks.ts");
  const opened = await wiring.openSandbox(...place(options));
  if (!opened.ok) return refuse(opened);
  const { sandbox } = opened;
  if ("ok" in sandbox) throw new WorkerError(sandbox.code, sandbox.detail, sandbox);
  return sandbox;
}

type TakeBackOptions = WorkspaceOptions & { readonly force?: boolean };

/** Takes back the named job or group, or the last job. */
export function undoJob(name?: string, options: TakeBackOptions = {}): Promise<TakeBack> {
  return takeBack("undo", name, options);
}

/** Brings a job in again that was taken back. */
export function redoJob(name?: string, options: TakeBackOptions = {}): Promise<TakeBack> {
  return takeBack("redo", name, options);
}

/** Oldest first. */
export async function listJobs(options: WorkspaceOptions = {}): Promise<readonly StoredJob[]> {
  return (await open(options)).workspace.archive.list();
}

/** One line per command, errors below. */
export function formatExecutionResults(results: readonly CommandResult[], locale: Locale = "ja"): string {
  return formatResults(
    results.map((result) => ({ ...result, notes: result.notes ?? [] })),
    messagesFor(locale),
  );
}

async function takeBack(
  direction: "undo" | "redo",
  name: string | undefined,
  options: TakeBackOptions,
): Promise<TakeBack> {
  const { workspace } = await open(options);
  await workspace.repair();
  return workspace.takeBack({
    direction,
    force: options.force ?? false,
    ...(name !== undefined && { name }),
  });
}

async function open(options: WorkspaceOptions): Promise<OpenedWorkspace> {
  const opened = await openWorkspace(...place(options));
  return opened.ok ? opened : refuse(opened);
}

function place({ workspace, home, configFile, env = process.env }: WorkspaceOptions) {
  const options: OpenOptions = {
    cwd: process.cwd(),
    ...(workspace !== undefined && { workspace }),
    ...(configFile !== undefined && { configFile }),
  };
  return [home === undefined ? env : { ...env, PICOCLAW_HOME: home }, options] as const;
}

function refuse({ problems, messages, message }: NotOpened): never {
  throw new WorkerError(
    problems.length > 0 ? "configuration" : "workspace",
    message ?? [messages.configInvalid, ...listProblems(messages, problems)].join("\n"),
    problems,
  );
}
