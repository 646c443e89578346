import type { TextEditorResult } from "../application/containers/execution-environment-manager.ts";
import type { EnvironmentRecords, SandboxManager } from "../application/ports/containers.ts";
import type { Config } from "../config/config.ts";
import type { ContainerInfo } from "../domain/containers/container-info.ts";
import { createProtection } from "../domain/policy/protection.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import type { Locale } from "../domain/texts/locale.ts";
import {
  type ContainerWorkspace,
  openContainerWorkspace,
} from "../infrastructure/containers/container-workspace.ts";
import type { Engine } from "../infrastructure/containers/docker-engine.ts";
import { globCompiler } from "../infrastructure/engine/folder-protection.ts";
import { createLineLogger } from "../infrastructure/platform/line-logger.ts";
import { findTool } from "../tools/catalog.ts";
import { definitionOf } from "../tools/registry/definitions.ts";
import {
  createProgramRunner,
  createToolContext,
  openScratch,
  type RunProgram,
  type ToolContext,
} from "../tools/tool-context.ts";
import { ToolError, type ToolResult } from "../tools/tool-result.ts";
import { createAgentToolkit } from "../tools/toolkit.ts";

export interface ContainerToolDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config: Config;
  readonly home: string;
  readonly sandboxes: SandboxManager;
  readonly engine: Engine;
  readonly records: EnvironmentRecords;
  readonly mask: (text: string) => string;
  readonly locale: Locale;
}

/** The project in a container, with what its tools are given. */
export interface OpenContainer {
  readonly workspace: ContainerWorkspace;
  readonly context: ToolContext;
}

/** Rejects with an `EnvironmentError` when the container's files cannot be reached. */
export async function openContainer(parts: ContainerToolDeps, info: ContainerInfo): Promise<OpenContainer> {
  const { config, engine, sandboxes, records, locale, home, mask } = parts;
  const { protected_patterns: patterns, action_on_protected_file: action } = config.worker;
  const { execution } = config.command_executor;
  const workspace = await openContainerWorkspace(
    {
      engine,
      sandboxes,
      mask,
      storage: records.folder(info.task_uuid),
      config: {
        ...config.worker,
        command_timeout: execution.timeout_seconds,
        output_limit: execution.max_output_size,
      },
      protection: createProtection({
        patterns,
        action,
        compile: await globCompiler(patterns),
        caseInsensitive: false,
        ownPaths: [],
      }),
      messages: messagesFor(locale),
      logger: createLineLogger({ home, file: config.log.file, level: config.log.level, mask }),
    },
    info,
  );
  return { workspace, context: contextOf(parts, workspace, info) };
}

function contextOf(
  { config, env, sandboxes }: ContainerToolDeps,
  workspace: ContainerWorkspace,
  info: ContainerInfo,
): ToolContext {
  const { apply_patch: patch } = config.tools;
  const onHost = createProgramRunner(env);
  return createToolContext({
    workspace,
    openElsewhere: async () => "an environment's tools work on its project only",
    locate: (absolute) => ({ folder: info.workspace_path, path: absolute }),
    // Programs that work on a private copy of a file run here; those that look at the project run where it
    // is.
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

export function createContainerToolkits(parts: ContainerToolDeps): ContainerToolkits {
  const open = new Map<string, { readonly container: string; readonly opened: Promise<OpenContainer> }>();
  const close = (taskUuid: string) => {
    void open.get(taskUuid)?.opened.then(
      ({ workspace }) => workspace.close(),
      () => {},
    );
    open.delete(taskUuid);
  };
  const openFor = async (info: ContainerInfo): Promise<OpenContainer> => {
    const { task_uuid: task, container_id: container } = info;
    const known = open.get(task);
    if (known?.container === container) {
      const opened = await known.opened.catch(() => null);
      if (opened !== null && !opened.workspace.isBroken()) return opened;
    }
    close(task);
    const opened = openContainer(parts, info);
    open.set(task, { container, opened });
    return opened;
  };
  return {
    async invoke(info, name, args, options = {}) {
      const { context } = await openFor(info);
      return createAgentToolkit(context).invoke(name, args, options);
    },
    close(taskUuid) {
      for (const task of taskUuid === undefined ? [...open.keys()] : [taskUuid]) close(task);
    },
  };
}

/** The toolkit's envelope in the shape of {@link TextEditorResult}. */
export function textResult(result: ToolResult): TextEditorResult {
  if (result.status !== "success") return { success: false, content: "", error: result.message };
  const { data, notes } = result;
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
