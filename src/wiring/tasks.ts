import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative, resolve } from "node:path";
import { ensureImage } from "../application/containers/ensure-image.ts";
import { executePatch } from "../application/jobs/execute-patch.ts";
import { diffText, WHOLE_DIFF } from "../application/jobs/job-facts.ts";
import { wordNote } from "../application/jobs/word-notes.ts";
import { createPatience } from "../application/models/complete.ts";
import type { WorkerAccount } from "../application/models/meter.ts";
import type { SandboxFailure, SandboxManager } from "../application/ports/containers.ts";
import type { NotOpened, Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { Model, ModelRole } from "../application/ports/models.ts";
import type { OpenTasks, TaskRequest, TaskRun, WorkerExecutor } from "../application/ports/tasks.ts";
import { runTask } from "../application/tasks/run-task.ts";
import { resolveLocale } from "../config/environment.ts";
import type { WorkerKindName } from "../domain/config/worker-kind-names.ts";
import { chooseEnvironment } from "../domain/containers/environment-choice.ts";
import { environmentImages } from "../domain/containers/image-recipes.ts";
import { createMasker } from "../domain/policy/mask.ts";
import { taskJson } from "../domain/tasks/task-note.ts";
import { isEnded, recordOf, type TaskFacts } from "../domain/tasks/task-record.ts";
import { taskMessagesFor } from "../domain/texts/tasks.ts";
import { createDockerImages } from "../infrastructure/containers/docker-images.ts";
import { createTransactions, type Sandbox } from "../infrastructure/engine/folder-workspace.ts";
import { toStorage } from "../infrastructure/engine/job-storage.ts";
import { pause } from "../infrastructure/platform/timers.ts";
import { copyXattrs } from "../infrastructure/platform/xattr.ts";
import { type Credentials, findCredentials } from "../infrastructure/tasks/credentials.ts";
import { createTaskFiles, deadViews } from "../infrastructure/tasks/task-files.ts";
import { createWorkerExecutor, type WorkerExecutorDeps } from "../infrastructure/tasks/worker-executor.ts";
import { findWorkerKind } from "../infrastructure/tasks/worker-kinds/find-kind.ts";
import type { WorkerKind } from "../infrastructure/tasks/worker-kinds/worker-kind.ts";
import { createProjectFiles } from "../tools/read/project-files.ts";
import { openDockerSandbox, openEngine } from "./docker-sandbox.ts";
import { prepareConfig, recipeDeps } from "./environment-preparation.ts";
import { type OpenedFolder, openWorkspace } from "./workspace.ts";

interface TaskAccount {
  /** The planner; null where none was asked for. */
  readonly model: Model | null;
  readonly workers: WorkerAccount;
  /** The cost of models since the last call. */
  costOf(): number;
  close(): Promise<void>;
}

interface AccountRequest {
  readonly id: string;
  readonly mask: (text: string) => string;
  /** Of the planner. */
  readonly role: ModelRole | null;
}

/** Records the usage of a task file's planner and worker CLI, and keeps it within the budget. */
export async function openTaskAccount(
  env: Readonly<Record<string, string | undefined>>,
  opened: OpenedFolder,
  { id, mask, role }: AccountRequest,
): Promise<TaskAccount | { readonly code: string; readonly message: string }> {
  const { config, loaded, parts } = opened;
  const [{ openModels }, { createChatMeter, memoryOptionsOf }, { openOwnStore }] = await Promise.all([
    import("./models.ts"),
    import("./chat-memory.ts"),
    import("./store.ts"),
  ]);
  const locale = resolveLocale({ env, config });
  const models = openModels(config, loaded.secrets, { locale, home: loaded.home, env, mask });
  const stored = await openOwnStore(loaded, { locale, now: parts.now });
  if (!stored.ok) return { code: "store", message: stored.message };
  const { meter } = createChatMeter(memoryOptionsOf(env, opened, { models }), stored.db);
  const metered = await meter.open({ chatKey: `task:${id}`, sessionId: id, groupId: id });
  const model = role === null ? null : metered.models.forRole(role);
  if (model !== null && "code" in model) {
    await stored.close();
    return model;
  }
  const { workers } = metered;
  let told = 0;
  return {
    model,
    workers: {
      refusal: workers.refusal,
      async count(kind, used) {
        await workers.count(kind, used);
        // A run tells its own cost.
        told += used.costUsd;
      },
    },
    costOf() {
      const { costUsd } = metered.used();
      const since = costUsd - told;
      told = costUsd;
      return since;
    },
    close: () => stored.close(),
  };
}

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
    diffOf: (jobId) => diffText(workspace.archive.walkDifferences(jobId), WHOLE_DIFF),
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
  const storage = toStorage(root, folder, true);
  const transactions = createTransactions({
    storage,
    copyLimitBytes: config.worker.copy_limit,
    lockTimeoutMs: 30_000,
    ownFolders: [storage.outer, loaded.home],
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

/** Opens task files on a workspace: Docker, images and the planning model, each when it is needed. */
export async function openTasks(
  env: Environment,
  options: OpenOptions,
  findKind = findWorkerKind,
): Promise<Opening<{ readonly tasks: OpenTasks }>> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { workspace } = opened;
  const texts = taskMessagesFor(resolveLocale({ env, config: opened.config }));
  const filesOf = (id: string, mask = workspace.mask) =>
    createTaskFiles({ storage: workspace.storage, workspace: workspace.root, id, mask });
  return {
    ...opened,
    tasks: {
      texts,
      sourceOf: (id) => (/^[\w.-]+$/.test(id) ? filesOf(id).readSource() : null),
      run: (request) => runTaskFile(env, opened, request, findKind(request.file.runner.worker.kind)),
    },
  };
}

async function runTaskFile(
  env: Environment,
  opened: OpenedFolder,
  request: TaskRequest,
  kind: WorkerKind,
): Promise<TaskRun> {
  const { workspace, config, loaded, parts } = opened;
  const locale = resolveLocale({ env, config });
  const texts = taskMessagesFor(locale);
  const credentials = findCredentials(kind, {
    home: env.HOME ?? homedir(),
    hostEnv: env,
    workerEnv: request.workerEnv,
  });
  const mask = maskOf([...loaded.secrets.values(), ...request.secrets], credentials);
  const id = request.resume ?? request.file.task.id ?? `t${randomBytes(4).toString("hex")}`;
  const files = createTaskFiles({ storage: workspace.storage, workspace: workspace.root, id, mask });
  const claim = files.claim();
  if (claim === null) return { ok: false, code: "task-busy", text: texts.taskBusy(id) };
  try {
    const before = recordOf(files.events());
    if (request.resume !== undefined && before === null)
      return { ok: false, code: "unknown-task", text: texts.unknownTask(id) };
    if (request.resume !== undefined && before?.state === "COMPLETE")
      return { ok: false, code: "task-complete", text: texts.taskDone(id) };
    const environment = environmentOf(opened, request.file.runner.worker.environment);
    if (typeof environment !== "string")
      return { ok: false, code: "unknown-environment", text: texts.unknownEnvironment(environment) };
    const withoutMeta = request.noMeta || (request.resume !== undefined && before?.facts.meta === null);
    const role = (request.file.runner.meta.model ?? config.roles.default_coder) as ModelRole;
    const account = await openTaskAccount(env, opened, { id, mask, role: withoutMeta ? null : role });
    if ("code" in account && !withoutMeta)
      return { ok: false, code: "no-model", text: texts.noModel(account.message) };
    // Work that cannot be counted is done all the same: only a planner needs the store.
    const meta = "code" in account ? null : account;
    const start =
      request.resume === undefined
        ? toTaskFacts(workspace.root, request, {
            id,
            meta: meta?.model ?? null,
            image: `${kind.image} + ${environment}`,
          })
        : "resume";
    if (start !== "resume" && "unreadable" in start) {
      await meta?.close();
      return { ok: false, code: "prd-unreadable", text: texts.prdUnreadable(start.unreadable) };
    }
    if (start !== "resume") {
      // A task of that name that has ended makes way; its jobs stay.
      if (before !== null) files.forgetJournal();
      files.saveSource(request.source);
    }
    const { executor, close } = openTaskExecutor(env, opened, {
      id,
      kind,
      image: request.file.runner.worker.docker_image ?? null,
      environment,
      folder: join(files.folder, "view"),
      credentials,
      mask,
    });
    try {
      const { record, interrupted } = await runTask(
        {
          files,
          executor,
          meta: meta?.model ?? null,
          ...(meta && { costOf: meta.costOf, workers: meta.workers }),
          ...(request.file.runner.meta.system_prompt && {
            metaSystemPrompt: request.file.runner.meta.system_prompt,
          }),
          patience: createPatience({
            limitMs: config.tasks.patience * 1000,
            clock: parts.clock,
            pause,
            onWait: ({ message }, ms) =>
              request.onProgress({ kind: "setup", text: `${message} (${Math.ceil(ms / 1000)} s)` }),
          }),
          messages: texts,
          now: parts.now,
          signal: request.signal,
          preview: request.preview,
          onRecord: request.onRecord,
          onProgress: request.onProgress,
        },
        start,
      );
      return {
        ok: true,
        record,
        interrupted: interrupted && !isEnded(record.state),
        note: relative(workspace.root, files.notePath),
        json: taskJson(record),
      };
    } finally {
      await close();
      await meta?.close();
    }
  } finally {
    claim.release();
  }
}

/** Asked for by name, else by the project's files. A name that is not there is given back with those that are. */
export function environmentOf(
  { workspace, config, parts }: OpenedFolder,
  asked: string | undefined,
): string | { readonly asked: string; readonly available: readonly string[] } {
  const { environments, default_environment: fallback } = config.command_executor;
  const available = Object.keys(environments);
  if (asked !== undefined && !available.includes(asked)) return { asked, available };
  const files = createProjectFiles(workspace, parts.planOptions).list(LISTED);
  return chooseEnvironment({ available, fallback, files, ...(asked !== undefined && { asked }) }).name;
}

const LISTED = 5000;

function toTaskFacts(
  workspace: string,
  { file }: TaskRequest,
  { id, meta, image }: { readonly id: string; readonly meta: Model | null; readonly image: string },
): TaskFacts | { readonly unreadable: string } {
  const { task, runner } = file;
  let prd = task.prd.text ?? "";
  if (task.prd.path !== undefined)
    try {
      prd = readFileSync(resolve(workspace, task.prd.path), "utf8");
    } catch {
      return { unreadable: task.prd.path };
    }
  return {
    id,
    title: task.title ?? (prd.trim().split("\n")[0] ?? "").slice(0, 80) ?? id,
    repo: workspace,
    description: task.description ?? "",
    prd,
    test: task.test === undefined ? null : { command: task.test.command, cwd: task.test.cwd ?? "" },
    kind: runner.worker.kind,
    image: runner.worker.docker_image ?? image,
    maxLoops: runner.max_loops,
    maxRunTimeSec: runner.worker.max_run_time_sec,
    maxTotalTimeSec: runner.max_total_time_sec,
    envNames: Object.keys(runner.worker.env),
    meta: meta === null ? null : `${meta.provider}/${meta.model}`,
  };
}

/** A masker of everything that a worker proves itself with. */
export function maskOf(known: readonly string[], credentials: ReturnType<typeof findCredentials>) {
  const all = [...known, ...credentials.keys.values(), ...tokensIn(credentials)];
  return createMasker({ secrets: all.filter((value) => value.length >= 6) }).mask;
}

/** Strings that look like a token in a login's files must not appear in a note. */
function tokensIn({ files }: ReturnType<typeof findCredentials>): string[] {
  const decoder = new TextDecoder();
  return files.flatMap(({ path, bytes }) =>
    path.endsWith(".json") ? (decoder.decode(bytes).match(/(?<=")[\w./+=-]{24,}(?=")/g) ?? []) : [],
  );
}

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
