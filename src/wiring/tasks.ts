import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative, resolve } from "node:path";
import type { OpenOptions } from "../adapters/cli/program.ts";
import type { OpenedTasks, TaskRequest, TaskRun } from "../adapters/cli/tasks.ts";
import { ensureImage } from "../application/environments/ensure-image.ts";
import type { Model, ModelRole } from "../application/ports/model.ts";
import type { SandboxFailure, SandboxManager } from "../application/ports/sandbox.ts";
import { runTask } from "../application/tasks/run-task.ts";
import { executePatch } from "../application/work/execute-patch.ts";
import { resolveLocale } from "../config/locale.ts";
import { taskMessagesFor } from "../domain/messages/tasks/catalogue.ts";
import { createMasker } from "../domain/policy/mask.ts";
import type { TaskFacts } from "../domain/task/events.ts";
import { isEnded } from "../domain/task/state.ts";
import { taskJson } from "../domain/task/task-note.ts";
import { recordOf } from "../domain/task/task-record.ts";
import { createImages } from "../infrastructure/docker/images.ts";
import { createRecipes } from "../infrastructure/docker/recipes.ts";
import { hashHex } from "../infrastructure/runtime/hash.ts";
import { copyXattrs } from "../infrastructure/runtime/libc.ts";
import { createTaskFiles, deadViews } from "../infrastructure/tasks/task-files.ts";
import { createTransactions, type Sandbox } from "../infrastructure/transaction/transactions.ts";
import { findCredentials } from "../infrastructure/workers/credentials.ts";
import { findWorkerKind } from "../infrastructure/workers/find-kind.ts";
import { createWorkerExecutor, type WorkerExecutorParts } from "../infrastructure/workers/worker-executor.ts";
import type { WorkerKind } from "../infrastructure/workers/worker-kind.ts";
import { openDockerSandbox, openEngine } from "./docker-sandbox.ts";
import { prepareConfig } from "./environment-preparation.ts";
import { findInstallation } from "./installation.ts";
import { type OpenedWorkspace, openWorkspace } from "./worker.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type Workspace = Extract<OpenedWorkspace, { ok: true }>;

/** Opens task files on a workspace: its Worker, Docker, images and the planning model, each when it is needed. */
export async function openTasks(
  env: Environment,
  options: OpenOptions,
  findKind = findWorkerKind,
): Promise<OpenedTasks> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { worker } = opened;
  const texts = taskMessagesFor(resolveLocale({ env, config: worker.config }));
  const filesOf = (id: string, mask = worker.mask) =>
    createTaskFiles({ storage: worker.storage, workspace: worker.workspace, id, mask });
  return {
    ok: true,
    worker,
    tasks: {
      worker,
      texts,
      sourceOf: (id) => (/^[\w.-]+$/.test(id) ? filesOf(id).readSource() : null),
      run: (request) => run(env, opened, request, findKind(request.file.runner.worker.kind)),
    },
  };
}

async function run(
  env: Environment,
  opened: Workspace,
  request: TaskRequest,
  kind: WorkerKind,
): Promise<TaskRun> {
  const { worker, loaded, parts } = opened;
  const { config } = worker;
  const locale = resolveLocale({ env, config });
  const texts = taskMessagesFor(locale);
  const credentials = findCredentials(kind, {
    home: env.HOME ?? homedir(),
    hostEnv: env,
    workerEnv: request.workerEnv,
  });
  const secret = [
    ...loaded.secrets.values(),
    ...request.secrets,
    ...Object.values(credentials.env),
    ...tokensIn(credentials),
  ];
  const { mask } = createMasker({ secrets: secret.filter((value) => value.length >= 6) });
  const id = request.resume ?? request.file.task.id ?? `t${randomBytes(4).toString("hex")}`;
  const files = createTaskFiles({ storage: worker.storage, workspace: worker.workspace, id, mask });
  const claim = files.claim();
  if (claim === null) return { ok: false, code: "task-busy", text: texts.taskBusy(id) };
  try {
    const before = recordOf(files.events());
    if (request.resume !== undefined && before === null)
      return { ok: false, code: "unknown-task", text: texts.unknownTask(id) };
    if (request.resume !== undefined && before?.state === "COMPLETE")
      return { ok: false, code: "task-complete", text: texts.taskDone(id) };
    const meta =
      request.noMeta || before?.facts.meta === null ? null : await planner(env, opened, request, mask);
    if (meta !== null && "code" in meta)
      return { ok: false, code: "no-model", text: texts.noModel(meta.message) };
    const start =
      request.resume === undefined ? factsOf(worker.workspace, request, id, meta, kind.image) : "resume";
    if (start !== "resume" && "unreadable" in start)
      return { ok: false, code: "prd-unreadable", text: texts.prdUnreadable(start.unreadable) };
    if (start !== "resume") {
      // A task of that name that has ended makes way; its jobs stay.
      if (before !== null) files.forgetJournal();
      files.saveSource(request.source);
    }
    const docker = openDocker(env, opened);
    const executor = createWorkerExecutor({
      taskId: id,
      kind,
      image: request.file.runner.worker.docker_image ?? kind.image,
      workspace: worker.workspace,
      folder: join(files.folder, "view"),
      ownFolders: [worker.storage, loaded.home],
      deadLayers: () => deadViews(worker.storage),
      staleThresholdMs: worker.config.command_executor.cleanup.stale_threshold_hours * 3_600_000,
      user: userOf(worker.workspace),
      credentials,
      ...docker,
      execute: (job, stage) => executePatch(staged(opened, stage, mask), job),
      messages: texts,
      mask,
      now: () => new Date(),
      newId: randomUUID,
    });
    try {
      const { record, interrupted } = await runTask(
        {
          files,
          executor,
          meta,
          ...(request.file.runner.meta.system_prompt && {
            metaSystemPrompt: request.file.runner.meta.system_prompt,
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
      const note = relative(worker.workspace, files.notePath);
      return {
        ok: true,
        record,
        interrupted: interrupted && !isEnded(record.state),
        note,
        json: taskJson(record),
      };
    } finally {
      await docker.sandbox.close();
    }
  } finally {
    claim.release();
  }
}

/** The coder role unless the task file names another (DECISIONS 19). */
async function planner(
  env: Environment,
  { worker, loaded }: Workspace,
  request: TaskRequest,
  mask: (text: string) => string,
): Promise<Model | { readonly code: string; readonly message: string }> {
  const { openModels } = await import("./models.ts");
  const locale = resolveLocale({ env, config: worker.config });
  const models = openModels(worker.config, loaded.secrets, { locale, home: loaded.home, env, mask });
  const role = (request.file.runner.meta.model ?? worker.config.roles.default_coder) as ModelRole;
  return models.forRole(role);
}

function factsOf(
  workspace: string,
  { file }: TaskRequest,
  id: string,
  meta: Model | null,
  image: string,
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
    image: runner.worker.docker_image ?? `${image}:latest`,
    maxLoops: runner.max_loops,
    maxRunTimeSec: runner.worker.max_run_time_sec,
    maxTotalTimeSec: runner.max_total_time_sec,
    envNames: Object.keys(runner.worker.env),
    meta: meta === null ? null : `${meta.provider}/${meta.model}`,
  };
}

type Docker = Pick<WorkerExecutorParts, "sandbox" | "limits" | "network" | "engineHost" | "ensureImage">;

function openDocker(env: Environment, { worker, loaded }: Workspace): Docker {
  const { command_executor: config } = worker.config;
  const { limits, network } = prepareConfig(worker.config);
  const engine = openEngine(config.docker, env);
  const opened = openDockerSandbox({
    config: { ...config, pool: { size: 0 } },
    home: loaded.home,
    env,
    warn: () => {},
  });
  const sandbox = "ok" in opened ? unreachable(opened) : opened;
  const parts = {
    recipes: createRecipes({
      images: join(findInstallation().folder, "images"),
      certificates: "/usr/local/share/ca-certificates",
      workspace: worker.workspace,
    }),
    sha256: (bytes: Uint8Array) => hashHex("sha256", bytes),
  };
  return {
    sandbox,
    limits,
    network,
    engineHost: config.docker.host,
    async ensureImage(image, { signal, onProgress }) {
      if ("ok" in engine) return { ok: false, detail: engine.detail };
      const texts = taskMessagesFor(resolveLocale({ env, config: worker.config }));
      const ensured = await ensureImage(
        { ...parts, images: createImages(engine) },
        {
          image,
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

/** The Worker's parts with jobs staged where the container works. */
function staged({ worker, loaded, parts }: Workspace, stage: Sandbox, mask: (text: string) => string) {
  const { workspace, storage: folder } = worker;
  const inside = folder.startsWith(`${workspace}/`) ? folder.slice(workspace.length + 1) : null;
  const transactions = createTransactions({
    storage: { workspace, folder, inside },
    copyLimitBytes: worker.config.worker.copy_limit,
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

/** What looks like a token in a login's files must not appear in a note. */
function tokensIn({ files }: ReturnType<typeof findCredentials>): string[] {
  const decoder = new TextDecoder();
  return files.flatMap(({ path, bytes }) =>
    path.endsWith(".json") ? (decoder.decode(bytes).match(/(?<=")[\w./+=-]{24,}(?=")/g) ?? []) : [],
  );
}
