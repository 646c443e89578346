import { randomBytes, randomUUID } from "node:crypto";
import { join, relative, resolve } from "node:path";
import { createTaskImage } from "../application/containers/ensure-image.ts";
import { createEnvironmentObserver } from "../application/containers/observe-environments.ts";
import type { SandboxFailure, SandboxManager } from "../application/ports/containers.ts";
import type { NotOpened, Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { OpenedWorker, OpenTasks, WorkerChoices, WorkerExecutor } from "../application/ports/tasks.ts";
import {
  createRunTaskFile,
  openTaskAccount,
  openWorkerFor,
  type StoredTaskFiles,
  type WantedWorker,
} from "../application/tasks/run-task-file.ts";
import { containerSettings, keyLimits, mayUseLogins } from "../config/settings.ts";
import { taskMessagesFor } from "../domain/texts/tasks.ts";
import { createDockerImages } from "../infrastructure/containers/docker-images.ts";
import { findWorkerKind } from "../infrastructure/heads/kinds/find-kind.ts";
import type { WorkerKind } from "../infrastructure/heads/kinds/worker-kind.ts";
import { readTextFile } from "../infrastructure/platform/text-files.ts";
import { pause } from "../infrastructure/platform/timers.ts";
import { openWorkerLogin } from "../infrastructure/tasks/credentials.ts";
import { createTaskFiles, readTaskSource } from "../infrastructure/tasks/task-files.ts";
import {
  openTaskWorkspace,
  type TaskExecutorOptions,
  unreachableSandbox,
} from "../infrastructure/tasks/task-workspace.ts";
import { createContainerExecutor } from "../infrastructure/tasks/worker-executor.ts";
import { createProjectFiles } from "../tools/read/project-files.ts";
import { openDocker } from "./docker-sandbox.ts";
import { imageInputs } from "./environment-preparation.ts";
import type { Environment, Services } from "./services.ts";
import { type OpenedFolder, openWorkspace } from "./workspace.ts";

/** Opens task files on a workspace: Docker, images and the planning model, each when it is needed. */
export async function openTasks(
  env: Environment,
  options: OpenOptions,
  findKind = findWorkerKind,
): Promise<Opening<{ readonly tasks: OpenTasks }>> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { workspace, services, deps, config } = opened;
  const texts = taskMessagesFor(services.locale);
  return {
    ...opened,
    tasks: {
      texts,
      sourceOf: (id) => readTaskSource({ storage: workspace.storage, workspace: workspace.root, id }),
      run: createRunTaskFile({ config, texts }, (name, { workerEnv, secrets }) => {
        const kind = findKind(name);
        const login = findLogin(services, kind, workerEnv, secrets);
        return {
          ...workerParts(opened, kind, login),
          root: workspace.root,
          workerKind: name,
          workerImage: kind.image,
          readText: (path) => readTextFile(resolve(workspace.root, path)),
          relativePath: (path) => relative(workspace.root, path),
          openAccount: (request) => openAccount(opened, login.mask, request),
          now: deps.now,
          clock: deps.clock,
          pause,
        };
      }),
    },
  };
}

/** Enough to say what kind of project it is. */
const LISTED = 5000;

/** The parts that `run` and a program's own worker share. */
function workerParts(opened: OpenedFolder, kind: WorkerKind, login: ReturnType<typeof findLogin>) {
  const { workspace, deps, services, config } = opened;
  return {
    config,
    texts: taskMessagesFor(services.locale),
    filesOf: (id: string) =>
      createTaskFiles({ storage: workspace.storage, workspace: workspace.root, id, mask: login.mask }),
    listFiles: () => createProjectFiles(workspace, deps.planOptions).list(LISTED),
    openExecutor: (wanted: WantedWorker, { folder }: StoredTaskFiles) =>
      openTaskExecutor(opened, { ...wanted, ...login, kind, folder: join(folder, "view") }),
    newId: () => `t${randomBytes(4).toString("hex")}`,
  };
}

function findLogin(
  { env, secrets, config }: Services,
  kind: WorkerKind,
  workerEnv: Readonly<Record<string, string>>,
  given: readonly string[] = [],
) {
  const logins = mayUseLogins(config, kind.name);
  return openWorkerLogin(kind, { env, workerEnv, logins, secrets: [...secrets.values(), ...given] });
}

async function openAccount(
  { workspace, services }: OpenedFolder,
  mask: (text: string) => string,
  request: Parameters<typeof openTaskAccount>[1],
) {
  const stored = await services.openStore();
  if (!stored.ok) return { code: "store", message: stored.message };
  const { openMeter } = await import("./meter.ts");
  const models = await services.models(mask);
  const { meter } = openMeter(services, { db: stored.db, root: workspace.root, models });
  return openTaskAccount({ meter, close: stored.close }, request);
}

/** A worker CLI in its container, on a workspace's configured engine. */
export function openTaskExecutor(
  { workspace, deps, services }: OpenedFolder,
  { id, kind, image, environment, folder, credentials, mask }: TaskExecutorOptions,
): { readonly executor: WorkerExecutor; close(): Promise<void> } {
  const { config, home, locale, env } = services;
  const { docker, cleanup } = config.command_executor;
  const messages = taskMessagesFor(locale);
  const withoutPool = { ...config.command_executor, pool: { size: 0 } };
  const opened = openDocker({ config: withoutPool, home, env, warn: () => {} });
  const sandbox =
    "ok" in opened
      ? unreachableSandbox(opened)
      : createEnvironmentObserver(services.log).sandboxes(opened.sandboxes);
  const executor = createContainerExecutor({
    ...openTaskWorkspace({ workspace, deps, home, copyLimitBytes: config.worker.copy_limit, mask }),
    ...containerSettings(config),
    taskId: id,
    kind,
    image: image ?? `${kind.image} + ${environment}`,
    folder,
    staleThresholdMs: cleanup.stale_threshold_hours * 3_600_000,
    credentials,
    keyLimits: keyLimits(config),
    sandbox,
    engineHost: docker.host,
    ensureImage: createTaskImage({
      images: "ok" in opened ? opened : createDockerImages(opened.engine),
      recipes: imageInputs(services),
      config: config.command_executor,
      wanted: image === null ? { environment, worker: kind.image } : { image },
      describe: messages.setup,
    }),
    messages,
    now: services.now,
    newId: randomUUID,
  });
  return { executor, close: () => sandbox.close() };
}

/** One worker CLI on a workspace, for programs; `run` has its own. */
export async function openWorkerExecutor(
  env: Environment,
  options: OpenOptions,
  choices: WorkerChoices,
): Promise<OpenedWorker | NotOpened> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { services } = opened;
  const kind = findWorkerKind(choices.kind);
  const login = findLogin(services, kind, choices.workerEnv ?? {});
  return openWorkerFor({ ...workerParts(opened, kind, login), refuse: services.refuse }, choices);
}

/** Containers on the configured engine; nothing is contacted yet. */
export async function openSandbox(
  env: Environment,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly sandbox: SandboxManager | SandboxFailure } | NotOpened> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { home, config } = opened.services;
  const docker = openDocker({ config: config.command_executor, home, env, warn: () => {} });
  return { ok: true, sandbox: "ok" in docker ? docker : docker.sandboxes };
}
