import type {
  ClonePoint,
  ContainerInfo,
  EnvironmentRecords,
  SandboxManager,
} from "../application/ports/containers.ts";
import type { OpenClone } from "../application/tasks/container-environments.ts";
import { containerWorkerSettings, toolLimits } from "../config/settings.ts";
import type { ContainerFileThread } from "../infrastructure/containers/container-files.ts";
import {
  type ContainerWorkspace,
  openCloneInContainer,
  openContainerWorkspace,
} from "../infrastructure/containers/container-workspace.ts";
import { jobsOfThisProcess } from "../infrastructure/engine/running-jobs.ts";
import { removeTree } from "../infrastructure/platform/remove-tree.ts";
import { protectFolder } from "../infrastructure/policy/folder-protection.ts";
import { createFarProjectFiles } from "../tools/read/project-files.ts";
import {
  createContainerProgramRunner,
  createToolContext,
  openScratch,
  type ToolContext,
} from "../tools/tool-context.ts";
import { type AgentToolkit, createAgentToolkit } from "../tools/toolkit.ts";
import type { Services } from "./services.ts";

export interface ContainerToolDeps {
  readonly services: Services;
  readonly sandboxes: SandboxManager;
  readonly records: EnvironmentRecords;
}

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
  clone: ClonePoint,
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
  const protection = protectFolder(null, { patterns, action });
  const storage = records.folder(info.task_uuid);
  return { mask, storage, config: containerWorkerSettings(config), protection, messages, logger };
}

function containerContext(
  { services: { config, env }, sandboxes }: ContainerToolDeps,
  workspace: ContainerWorkspace,
  { workspace_path: project, container_id: container }: ContainerInfo,
): ToolContext {
  return createToolContext({
    workspace,
    openElsewhere: async () => "an environment's tools work on its project only",
    locate: (absolute) => ({ folder: project, path: absolute }),
    runProgram: createContainerProgramRunner(env, project, (request) => sandboxes.exec(container, request)),
    openScratch: () => openScratch(removeTree),
    writeScope: config.tools.write_scope === "read-only" ? "read-only" : "workspace-write",
    limits: toolLimits(config),
  });
}
