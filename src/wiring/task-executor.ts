import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { ensureImage } from "../application/containers/environments-ensure-image.ts";
import { LOG } from "../application/ports/logger.ts";
import type { SandboxFailure, SandboxManager } from "../application/ports/containers.ts";
import type { WorkerExecutor } from "../application/ports/worker-executor.ts";
import { executePatch } from "../application/jobs/execute-patch.ts";
import { diffText } from "../application/jobs/diff-text.ts";
import { wordNote } from "../application/jobs/word-notes.ts";
import { resolveLocale } from "../config/locale.ts";
import { environmentImages } from "../domain/containers/environment-setting.ts";
import { taskMessagesFor } from "../domain/texts/texts.ts";
import { createDockerImages } from "../infrastructure/containers/docker-images.ts";
import { copyXattrs } from "../infrastructure/platform/xattr.ts";
import { deadViews } from "../infrastructure/tasks/task-files.ts";
import type { Credentials } from "../infrastructure/tasks/credentials.ts";
import {
  createWorkerExecutor,
  type WorkerExecutorDeps,
} from "../infrastructure/tasks/worker-executor.ts";
import type { WorkerKind } from "../infrastructure/tasks/worker-kinds/worker-kind.ts";
import { createTransactions, type Sandbox } from "../infrastructure/engine/folder-workspace.ts";
import { openDockerSandbox, openEngine } from "./docker-sandbox.ts";
import { prepareConfig, recipeDeps } from "./environment-preparation.ts";
import type { OpenedFolder } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface TaskExecutorOptions {
  readonly id: string;
  readonly kind: WorkerKind;
  /** One that has the CLI; null: the environment's, with the CLI over it. */
  readonly image: string | null;
  readonly environment: string;
  /** For the layers of its view. */
  readonly folder: string;
  readonly credentials: Credentials;
  readonly mask: (text: string) => string;
}

/** A worker CLI in its container, on a workspace's configured engine. */
export function openTaskExecutor(
  env: Environment,
  opened: OpenedFolder,
  { id, kind, image, environment, folder, credentials, mask }: TaskExecutorOptions,
): { readonly executor: WorkerExecutor; close(): Promise<void> } {
  const { workspace, config, loaded } = opened;
  const docker = openDocker(env, opened, image === null ? { environment, worker: kind.image } : { image });
  const executor = createWorkerExecutor({
    taskId: id,
    kind,
    image: image ?? `${kind.image} + ${environment}`,
    workspace: workspace.root,
    folder,
    ownFolders: [workspace.storage, loaded.home],
    deadLayers: () => deadViews(workspace.storage),
    copyLimitBytes: config.worker.copy_limit,
    staleThresholdMs: config.command_executor.cleanup.stale_threshold_hours * 3_600_000,
    user: userOf(workspace.root),
    credentials,
    keyLimits: { requests: config.tasks.key_requests, bytes: config.tasks.key_traffic },
    ...docker,
    execute: (job, stage) => executePatch(withStage(opened, stage, mask), job),
    messages: taskMessagesFor(resolveLocale({ env, config })),
    wordNote: (note) => wordNote(opened.messages, note),
    diffOf: (jobId) => diffText(workspace.archive.differences(jobId)),
    mask,
    now: () => new Date(),
    newId: randomUUID,
  });
  return { executor, close: () => docker.sandbox.close() };
}

type DockerDeps = Pick<WorkerExecutorDeps, "sandbox" | "limits" | "network" | "engineHost" | "ensureImage">;

type WantedImage = { readonly image: string } | { readonly environment: string; readonly worker: string };

function openDocker(
  env: Environment,
  { workspace, config: all, loaded }: OpenedFolder,
  wanted: WantedImage,
): DockerDeps {
  const { command_executor: config } = all;
  const { limits, network } = prepareConfig(all);
  const engine = openEngine(config.docker, env);
  const opened = openDockerSandbox({
    config: { ...config, pool: { size: 0 } },
    home: loaded.home,
    env,
    warn: () => {},
  });
  const sandbox = "ok" in opened ? unreachable(opened) : opened;
  const parts = recipeDeps({ env, config: all, workspace: workspace.root });
  return {
    sandbox,
    limits,
    network,
    engineHost: config.docker.host,
    async ensureImage({ signal, onProgress }) {
      if ("ok" in engine) return { ok: false, detail: engine.detail };
      const texts = taskMessagesFor(resolveLocale({ env, config: all }));
      const ensured = await ensureImage(
        { ...parts, images: createDockerImages(engine) },
        {
          ...("image" in wanted
            ? wanted
            : {
                image: environmentImages(config.environments)[wanted.environment] ?? config.docker.base_image,
                worker: wanted.worker,
              }),
          signal,
          onStep: (step, name) => onProgress(texts.setup(step === "pulling" ? "pulling" : "building", name)),
        },
      );
      return ensured.ok ? ensured : { ok: false, detail: ensured.attempts.join("; ") };
    },
  };
}

/** An engine whose address cannot be read answers everything with that. */
function unreachable(failure: SandboxFailure): SandboxManager {
  const answer = async () => failure;
  return { describe: answer, startContainer: answer, close: async () => {} } as unknown as SandboxManager;
}

/** The workspace's parts with jobs staged where the container works. */
function withStage(
  { workspace, config, loaded, parts }: OpenedFolder,
  stage: Sandbox,
  mask: (text: string) => string,
) {
  const { root, storage: folder } = workspace;
  const inside = folder.startsWith(`${root}/`) ? folder.slice(root.length + 1) : null;
  const transactions = createTransactions({
    storage: { workspace: root, folder, inside, trusted: true },
    home: loaded.home,
    onHolderEnded: (pid) => parts.logger.warn("worker", ...LOG.holderEnded, { pid }),
    copyLimitBytes: config.worker.copy_limit,
    lockTimeoutMs: 30_000,
    ownFolders: [folder, loaded.home],
    sandbox: async () => stage,
    copyAttributes: (from, fd) => void copyXattrs(from, fd),
    now: parts.now,
  });
  return {
    ...parts,
    transactions,
    mask,
    staging: { kind: "overlay", reason: "overlay-available", confinable: true },
    // How jobs are staged elsewhere is no news here.
    archive: { ...parts.archive, isFirstOf: () => false },
  } as const;
}

/** Files that the worker makes belong to whoever owns the repository. */
function userOf(workspace: string): { readonly uid: number; readonly gid: number } {
  const uid = process.getuid?.() ?? 10_001;
  if (uid !== 0) return { uid, gid: process.getgid?.() ?? uid };
  const owner = statSync(workspace);
  return { uid: owner.uid, gid: owner.gid };
}
