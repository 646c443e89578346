import { randomBytes } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import type { NotOpened, OpenOptions } from "../application/ports/opening.ts";
import type { SandboxFailure, SandboxManager } from "../application/ports/containers.ts";
import type { WorkerExecutor } from "../application/ports/worker-executor.ts";
import { resolveLocale } from "../config/locale.ts";
import type { WorkerKindName } from "../domain/config/worker-kind-names.ts";
import { taskMessagesFor } from "../domain/texts/texts.ts";
import { createTaskFiles } from "../infrastructure/tasks/task-files.ts";
import { findCredentials } from "../infrastructure/tasks/credentials.ts";
import { findWorkerKind } from "../infrastructure/tasks/worker-kinds/find-kind.ts";
import { openDockerSandbox } from "./docker-sandbox.ts";
import { openTaskExecutor } from "./task-executor.ts";
import { environmentOf, maskOf } from "./tasks.ts";
import { openWorkspace } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface WorkerChoices {
  readonly kind: WorkerKindName;
  /** Names the container and groups the jobs. Default: made up. */
  readonly taskId?: string;
  /** By its name in the configuration. Default: by the project's files. */
  readonly environment?: string;
  /** An image that has the CLI, instead of the environment's. */
  readonly image?: string;
  /** Variables for the worker. Keys among them stay outside of the container. */
  readonly workerEnv?: Readonly<Record<string, string>>;
}

export interface OpenedWorker {
  readonly ok: true;
  readonly taskId: string;
  readonly executor: WorkerExecutor;
  close(): Promise<void>;
}

/** One worker CLI on a workspace, for programs; `run` has its own. */
export async function openWorkerExecutor(
  env: Environment,
  options: OpenOptions,
  { kind: name, taskId, environment: asked, image, workerEnv = {} }: WorkerChoices,
): Promise<OpenedWorker | NotOpened> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { workspace, loaded, messages, config } = opened;
  const texts = taskMessagesFor(resolveLocale({ env, config }));
  const refuse = (message: string): NotOpened => ({
    ok: false,
    exitCode: 2,
    messages,
    problems: [],
    message,
  });
  const environment = environmentOf(opened, asked);
  if (typeof environment !== "string") return refuse(texts.unknownEnvironment(environment));
  const id = taskId ?? `t${randomBytes(4).toString("hex")}`;
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(id)) return refuse(texts.unknownTask(id));
  const kind = findWorkerKind(name);
  const credentials = findCredentials(kind, { home: env.HOME ?? homedir(), hostEnv: env, workerEnv });
  const mask = maskOf(loaded.secrets.values(), credentials);
  const files = createTaskFiles({ storage: workspace.storage, workspace: workspace.root, id, mask });
  const claim = files.claim();
  if (claim === null) return refuse(texts.taskBusy(id));
  const folder = join(files.folder, "view");
  const { executor, close } = openTaskExecutor(env, opened, {
    id,
    kind,
    image: image ?? null,
    environment,
    folder,
    credentials,
    mask,
  });
  return {
    ok: true,
    taskId: id,
    executor,
    async close() {
      await executor.stop();
      await close();
      claim.release();
    },
  };
}

/** Containers on the configured engine; nothing is contacted yet. */
export async function openSandbox(
  env: Environment,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly sandbox: SandboxManager | SandboxFailure } | NotOpened> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { home, config } = opened.loaded;
  const sandbox = openDockerSandbox({ config: config.command_executor, home, env, warn: () => {} });
  return { ok: true, sandbox };
}
