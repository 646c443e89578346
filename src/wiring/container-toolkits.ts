import type { EnvironmentRecords, SandboxManager } from "../application/ports/containers.ts";
import type { ClonePlace, OpenClone } from "../application/tasks/container-environments.ts";
import { toolLimits } from "../config/settings.ts";
import type { ContainerInfo } from "../domain/containers/container-info.ts";
import { createProtection } from "../domain/policy/protection.ts";
import { type ContainerFileThread, createFileThread } from "../infrastructure/containers/container-files.ts";
import {
  type ContainerWorkspace,
  openCloneInContainer,
  openContainerWorkspace,
} from "../infrastructure/containers/container-workspace.ts";
import type { Engine } from "../infrastructure/containers/docker-engine.ts";
import { globCompiler } from "../infrastructure/engine/folder-protection.ts";
import { jobsOfThisProcess } from "../infrastructure/engine/running-jobs.ts";
import { findInstallation, threadEntry } from "../infrastructure/platform/installation.ts";
import { createFarProjectFiles } from "../tools/read/project-files.ts";
import {
  createProgramRunner,
  createToolContext,
  openScratch,
  type RunProgram,
  type ToolContext,
} from "../tools/tool-context.ts";
import { ToolError } from "../tools/tool-result.ts";
import { type AgentToolkit, createAgentToolkit } from "../tools/toolkit.ts";
import type { Services } from "./services.ts";

export interface ContainerToolDeps {
  readonly services: Services;
  readonly sandboxes: SandboxManager;
  readonly records: EnvironmentRecords;
}

/** Starts its thread when the first container is opened. */
export function createContainerFiles(engine: Engine): ContainerFileThread {
  return createFileThread(engine, () => threadEntry(findInstallation(), "container-files"));
}

/** The project in a container, with what its tools are given. */
export interface OpenContainer {
  readonly workspace: ContainerWorkspace;
  readonly context: ToolContext;
  readonly toolkit: AgentToolkit;
}

/** Rejects with an `EnvironmentError` when the container's files cannot be reached. */
export async function openContainer(
  deps: ContainerToolDeps,
  files: ContainerFileThread,
  info: ContainerInfo,
): Promise<OpenContainer> {
  const { sandboxes } = deps;
  const given = await workspaceDeps(deps, info);
  const workspace = await openContainerWorkspace({ files, sandboxes, ...given }, info);
  const context = containerContext(deps, workspace, info);
  return { workspace, context, toolkit: createAgentToolkit(context) };
}

/** The clone of a task in its container, whose drafts are the clone itself. */
export async function openClone(
  deps: ContainerToolDeps,
  info: ContainerInfo,
  clone: ClonePlace,
): Promise<OpenClone> {
  const { sandboxes } = deps;
  const workspace = openCloneInContainer({ sandboxes, ...(await workspaceDeps(deps, info)) }, info, clone);
  const { planOptions } = jobsOfThisProcess();
  await workspace.see();
  const projectOf: OpenClone["projectOf"] = (files) =>
    createFarProjectFiles({ ...workspace, files }, planOptions);
  return { workspace, touch: workspace.touch, projectOf };
}

async function workspaceDeps({ services, records }: ContainerToolDeps, info: ContainerInfo) {
  const { config, mask, messages, log: logger } = services;
  const { protected_patterns: patterns, action_on_protected_file: action } = config.worker;
  const { timeout_seconds: command_timeout, max_output_size: output_limit } =
    config.command_executor.execution;
  const compile = await globCompiler(patterns);
  const protection = createProtection({ patterns, action, compile, caseInsensitive: false, ownPaths: [] });
  const storage = records.folder(info.task_uuid);
  const worker = { ...config.worker, command_timeout, output_limit };
  return { mask, storage, config: worker, protection, messages, logger };
}

/** Of a program whose whole output is wanted. */
const PROGRAM_BYTES = 32 * 1024 ** 2;

function containerContext(
  { services: { config, env }, sandboxes }: ContainerToolDeps,
  workspace: ContainerWorkspace,
  info: ContainerInfo,
): ToolContext {
  const onHost = createProgramRunner(env);
  const inContainer: RunProgram = async ({ argv, input, ...request }) => {
    const { outcome, exitCode, stdout, stderr } = await sandboxes.exec(info.container_id, {
      command: argv,
      outputLimitBytes: PROGRAM_BYTES,
      ...(input !== undefined && { stdin: input }),
      ...request,
    });
    if (outcome === "aborted") throw new ToolError("ABORTED", "the call was aborted");
    if (outcome === "not-started" || exitCode === 127)
      throw new ToolError("REFUSED", `${argv[0]} is not installed`);
    return { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) };
  };
  return createToolContext({
    workspace,
    openElsewhere: async () => "an environment's tools work on its project only",
    locate: (absolute) => ({ folder: info.workspace_path, path: absolute }),
    // Programs that work on a private copy of a file run here; those that look at the project run where it
    // is.
    runProgram: (request) =>
      request.cwd.startsWith(info.workspace_path) ? inContainer(request) : onHost(request),
    openScratch,
    writeScope: config.tools.write_scope === "read-only" ? "read-only" : "workspace-write",
    limits: toolLimits(config),
  });
}
