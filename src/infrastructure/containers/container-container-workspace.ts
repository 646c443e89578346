import type { ContainerInfo } from "../../domain/containers/container-info.ts";
import { EnvironmentError } from "../../application/containers/environment-error.ts";
import type { SandboxManager } from "../../application/ports/containers.ts";
import type { Workspace } from "../../application/ports/jobs-workspace.ts";
import { createWorkspace } from "../../application/jobs/workspace.ts";
import type { WorkerConfig, WorkspaceDeps } from "../../application/jobs/workspace-parts.ts";
import type { Engine } from "./docker-engine.ts";
import { parseEngineAddress } from "./engine-address.ts";
import { createJobHolders, jobsOfThisProcess } from "../engine/this-process.ts";
import { createJobArchive } from "../engine/job-archive.ts";
import { createContainerProcesses } from "./container-processes.ts";
import { createContainerTransactions } from "./container-transactions.ts";
import { createContainerView } from "./container-view.ts";
import { openFileChannel } from "./container-files.ts";

export interface ContainerWorkspaceDeps extends Pick<WorkspaceDeps, "logger" | "messages" | "mask"> {
  readonly engine: Engine;
  readonly sandboxes: SandboxManager;
  readonly protection: Workspace["protection"];
  /** Where the jobs of the task are kept, on this machine. */
  readonly storage: string;
  readonly config: WorkerConfig;
}

/** A workspace that hangs on a connection. */
export interface ContainerWorkspace extends Workspace {
  /** Its files cannot be reached any more. */
  isBroken(): boolean;
  /** Hangs up; the container stays. */
  close(): void;
}

/**
 * The project in a container as a workspace: the same jobs, journalled on this machine. The container confines them, and
 * the unit of undo there is the task, so nothing is staged and nothing committed automatically. Rejects with an
 * `EnvironmentError` when the container's files cannot be reached.
 */
export async function openContainerWorkspace(
  given: ContainerWorkspaceDeps,
  info: ContainerInfo,
): Promise<ContainerWorkspace> {
  const { engine, sandboxes, protection, storage, config, ...rest } = given;
  const root = info.workspace_path;
  const address = parseEngineAddress(engine.host);
  if (address === undefined) throw new EnvironmentError(engine.host);
  const channel = await openFileChannel(engine, address, info.container_id, root);
  if ("ok" in channel) throw new EnvironmentError(channel.detail);
  const processes = createContainerProcesses(sandboxes, info.container_id);
  const ours = jobsOfThisProcess();
  const { now } = ours;
  const parts: WorkspaceDeps = {
    ...rest,
    ...ours,
    root,
    config: { ...config, confine: "off", auto_commit: false },
    staging: { kind: "none", reason: "configured", confinable: true },
    transactions: createContainerTransactions({ storage, root, channel, processes, now }),
    archive: { ...createJobArchive(storage, now), isFirstOf: () => false },
    policy: { protection, rootNames: [root] },
    processes: async () => processes,
    ownGit: async () => null,
    hostEnv: {},
    isTrusted: () => true,
  };
  const workspace = createWorkspace({
    parts,
    storage,
    files: createContainerView(channel),
    ...createJobHolders(storage),
  });
  return { ...workspace, isBroken: () => channel.isBroken(), close: () => channel.close() };
}
