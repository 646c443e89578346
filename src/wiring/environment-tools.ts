import picomatch from "picomatch";
import type { ToolEnvelope } from "../adapters/cli/program.ts";
import type { ContainerInfo } from "../application/environments/container-info.ts";
import { EnvironmentError } from "../application/environments/environment-error.ts";
import type { TextEditorResult } from "../application/environments/execution-environment-manager.ts";
import type { EnvironmentRecords } from "../application/ports/environment-records.ts";
import type { SandboxManager } from "../application/ports/sandbox.ts";
import { executePatch } from "../application/work/execute-patch.ts";
import type { ExecuteRequest } from "../application/work/execution.ts";
import { takeBack } from "../application/work/take-back.ts";
import type { WorkerParts } from "../application/work/worker-parts.ts";
import type { Config } from "../config/config.ts";
import { createProtection } from "../domain/policy/protection.ts";
import { messagesFor } from "../domain/texts/catalogue.ts";
import { environmentMessages } from "../domain/texts/environments/catalogue.ts";
import type { Locale } from "../domain/texts/messages.ts";
import type { Engine } from "../infrastructure/environments/engine/engine.ts";
import { parseEngineAddress } from "../infrastructure/environments/engine/engine-address.ts";
import { hashHex } from "../infrastructure/runtime/hash.ts";
import { createLineLogger } from "../infrastructure/telemetry/line-logger.ts";
import { createContainerProcesses } from "../infrastructure/work/container/container-processes.ts";
import { createContainerTransactions } from "../infrastructure/work/container/container-transactions.ts";
import { createContainerView } from "../infrastructure/work/container/container-view.ts";
import { type FileChannel, openFileChannel } from "../infrastructure/work/container/file-channel.ts";
import { createJobArchive } from "../infrastructure/work/transaction/job-archive.ts";
import { createToolContext, type RunProgram, type ToolContext } from "../tools/context.ts";
import type { ToolResult } from "../tools/envelope.ts";
import { findTool } from "../tools/find-tool.ts";
import { definitionOf } from "../tools/registry/definitions.ts";
import { ToolError } from "../tools/tool-error.ts";
import { createAgentToolkit } from "../tools/toolkit.ts";
import { createProgramRunner } from "./tool-programs.ts";
import { openScratch } from "./tool-scratch.ts";

export interface ContainerToolParts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config: Config;
  readonly home: string;
  readonly sandboxes: SandboxManager;
  readonly engine: Engine;
  readonly records: EnvironmentRecords;
  readonly mask: (text: string) => string;
  readonly locale: Locale;
}

/** A Worker whose workspace is the project in a container: the same jobs, journalled on this machine. */
export interface ContainerWorker {
  readonly parts: WorkerParts;
  readonly context: ToolContext;
  execute(request: ExecuteRequest): ReturnType<typeof executePatch>;
  /** Its files cannot be reached any more. */
  isBroken(): boolean;
  close(): void;
}

/** Rejects with an `EnvironmentError` when the container's files cannot be reached. */
export async function openContainerWorker(
  parts: ContainerToolParts,
  info: ContainerInfo,
): Promise<ContainerWorker> {
  const { config, engine, records, locale } = parts;
  const root = info.workspace_path;
  const address = parseEngineAddress(engine.host);
  if (address === undefined) throw new EnvironmentError(engine.host);
  const channel = await openFileChannel(engine, address, info.container_id, root);
  if ("ok" in channel) throw new EnvironmentError(channel.detail);
  const storage = records.folder(info.task_uuid);
  const processes = createContainerProcesses(parts.sandboxes, info.container_id);
  const now = () => new Date();
  const archive = createJobArchive(storage, now);
  const { protected_patterns: patterns, action_on_protected_file: action } = config.worker;
  const protection = createProtection({
    patterns,
    action,
    compile: (pattern, { caseInsensitive }) => picomatch(pattern, { dot: true, nocase: caseInsensitive }),
    caseInsensitive: false,
    ownPaths: [],
  });
  const { execution } = config.command_executor;
  const undo = environmentMessages(locale).undoIsTheTasks;
  const messages = { ...messagesFor(locale), shellNotUndoable: undo };
  const worker: WorkerParts = {
    workspace: root,
    config: {
      ...config.worker,
      confine: "off",
      command_timeout: execution.timeout_seconds,
      output_limit: execution.max_output_size,
    },
    staging: { kind: "none", reason: "configured", confinable: true },
    transactions: createContainerTransactions({ storage, root, channel, processes, now }),
    archive: { ...archive, isFirstOf: () => false },
    policy: { protection, rootNames: [root] },
    planOptions: {
      inflate: (data) => process.getBuiltinModule("node:zlib").inflateSync(data),
      sha1: (bytes) => hashHex("sha1", bytes),
    },
    processes: async () => processes,
    logger: createLineLogger({
      home: parts.home,
      file: config.log.file,
      level: config.log.level,
      mask: parts.mask,
    }),
    messages,
    mask: parts.mask,
    hostEnv: {},
    now,
    pid: process.pid,
    clock: () => performance.now(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
  return {
    parts: worker,
    context: contextOf(parts, worker, channel, info),
    execute: (request) => executePatch(worker, request),
    isBroken: () => channel.isBroken(),
    close: () => channel.close(),
  };
}

function contextOf(
  { config, env, sandboxes, mask }: ContainerToolParts,
  worker: WorkerParts,
  channel: FileChannel,
  info: ContainerInfo,
): ToolContext {
  const { apply_patch: patch } = config.tools;
  const settings = config.worker;
  const onHost = createProgramRunner(env);
  return createToolContext({
    workspace: {
      root: info.workspace_path,
      rootNames: [info.workspace_path],
      files: createContainerView(channel),
      archive: worker.archive,
      mask,
      protection: worker.policy.protection,
      execute: (request) =>
        executePatch(worker, {
          ...request,
          dryRun: settings.dry_run,
          preview: false,
          atomic: false,
          stopOnError: settings.stop_on_error,
          autoCommit: false,
        }),
      takeBack: (request) => takeBack(worker, request),
    },
    openElsewhere: async () => "an environment's tools work on its project only",
    locate: (absolute) => ({ folder: info.workspace_path, path: absolute }),
    // What works on a private copy of a file runs here; what looks at the project runs where it is.
    runProgram: (request) =>
      request.cwd.startsWith(info.workspace_path) ? inContainer(sandboxes, info, request) : onHost(request),
    openScratch,
    writeScope: config.tools.write_scope === "read-only" ? "read-only" : "workspace-write",
    limits: { applyPatchBytes: patch.max_bytes, applyPatchErrorChars: patch.max_error_chars },
  });
}

const OUTPUT_BYTES = 32 * 1024 ** 2;

async function inContainer(
  sandboxes: SandboxManager,
  { container_id: container }: ContainerInfo,
  { argv, cwd, env, input, timeoutMs, signal }: Parameters<RunProgram>[0],
): ReturnType<RunProgram> {
  const result = await sandboxes.exec(container, {
    command: argv,
    cwd,
    timeoutMs,
    outputLimitBytes: OUTPUT_BYTES,
    ...(env !== undefined && { env }),
    ...(input !== undefined && { stdin: input }),
    ...(signal !== undefined && { signal }),
  });
  if (result.outcome === "aborted") throw new ToolError("ABORTED", "the call was aborted");
  if (result.outcome === "not-started" || result.exitCode === 127)
    throw new ToolError("REFUSED", `${argv[0]} is not installed`);
  const bytes = (text: string) => Buffer.from(text, "utf8");
  return { exitCode: result.exitCode, stdout: bytes(result.stdout), stderr: bytes(result.stderr) };
}

/** Toolkits over environments. One that was used stays connected: the next call takes a millisecond, not a tenth of a second. */
export interface ContainerToolkits {
  invoke(
    info: ContainerInfo,
    name: string,
    args: unknown,
    options?: { readonly signal?: AbortSignal },
  ): Promise<ToolResult>;
  /** Hangs up on one task, or on all. */
  close(taskUuid?: string): void;
}

export function createContainerToolkits(parts: ContainerToolParts): ContainerToolkits {
  const open = new Map<string, { readonly container: string; readonly worker: Promise<ContainerWorker> }>();
  const close = (taskUuid: string) => {
    void open.get(taskUuid)?.worker.then(
      (worker) => worker.close(),
      () => {},
    );
    open.delete(taskUuid);
  };
  const workerFor = async (info: ContainerInfo): Promise<ContainerWorker> => {
    const { task_uuid: task, container_id: container } = info;
    const known = open.get(task);
    if (known?.container === container) {
      const worker = await known.worker.catch(() => null);
      if (worker !== null && !worker.isBroken()) return worker;
    }
    close(task);
    const worker = openContainerWorker(parts, info);
    open.set(task, { container, worker });
    return worker;
  };
  return {
    async invoke(info, name, args, options = {}) {
      const worker = await workerFor(info);
      return createAgentToolkit(worker.context).invoke(name, args, options);
    },
    close(taskUuid) {
      for (const task of taskUuid === undefined ? [...open.keys()] : [taskUuid]) close(task);
    },
  };
}

/** The toolkit's envelope in the shape of {@link TextEditorResult}. */
export function textResult(result: ToolResult | ToolEnvelope): TextEditorResult {
  if (result.status !== "success") return { success: false, content: "", error: result.message };
  const { data, notes } = result as Extract<ToolResult, { status: "success" }>;
  const content = (data as { content?: string } | undefined)?.content;
  const text = content ?? (data === undefined ? "" : typeof data === "string" ? data : JSON.stringify(data));
  return {
    success: true,
    content: [text, ...(notes ?? [])].filter((part) => part !== "").join("\n"),
    error: "",
  };
}

export function toolDefinitionsFor() {
  const of = (name: string, as: string) => {
    const tool = findTool(name);
    if (tool === undefined) throw new Error(`no such tool: ${name}`);
    return definitionOf(tool, as);
  };
  return {
    execute: of("execute_command", "command-executor_execute_command"),
    editor: of("text_editor", "text_editor"),
  };
}
