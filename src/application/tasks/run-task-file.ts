import type { Config } from "../../config/config.ts";
import type { TaskFile } from "../../config/task-file.ts";
import { type WorkerKindName, workerOfHead } from "../../domain/config/configured-kinds.ts";
import { chooseEnvironment } from "../../domain/containers/environments.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { taskJson } from "../../domain/tasks/task-note.ts";
import { isEnded, recordOf, type TaskFacts } from "../../domain/tasks/task-record.ts";
import type { TaskMessages } from "../../domain/texts/tasks.ts";
import { createPatience } from "../models/complete.ts";
import type { NotOpened } from "../ports/jobs-workspace.ts";
import type { Model, ModelRole } from "../ports/models.ts";
import type { Meter, WorkerAccount } from "../ports/models-meter.ts";
import type {
  OpenedWorker,
  TaskFiles,
  TaskRequest,
  TaskRun,
  WorkerChoices,
  WorkerExecutor,
} from "../ports/tasks.ts";
import { runTask } from "./run-task.ts";

/** A task's files with the document that it was made of. */
export interface StoredTaskFiles extends TaskFiles {
  /** Of this task alone. */
  readonly folder: string;
  saveSource(text: string): void;
  readSource(): string | null;
  forgetJournal(): void;
}

export interface TaskAccount {
  readonly model: Model | null;
  readonly workers: WorkerAccount;
  /** The cost of models since the last call. */
  costOf(): number;
  close(): Promise<void>;
}

export type TaskAccountRefusal = { readonly code: string; readonly message: string };

/** Records the usage of a task file's planner and worker CLI, and keeps it within the budget. */
export async function openTaskAccount(
  { meter, close }: { readonly meter: Meter; close(): Promise<void> },
  { id, role }: { readonly id: string; readonly role: ModelRole | null },
): Promise<TaskAccount | TaskAccountRefusal> {
  const metered = await meter.open(
    { chatKey: `task:${id}`, sessionId: id, groupId: id },
    {},
    role ?? undefined,
  );
  const model = role === null ? null : metered.models.forRole(role);
  if (model !== null && "code" in model) {
    await close();
    return model;
  }
  const { workers } = metered;
  let reportedUsd = 0;
  return {
    model,
    workers: {
      refusal: workers.refusal,
      async count(kind, used) {
        await workers.count(kind, used);
        // A run reports its own cost.
        reportedUsd += used.costUsd;
      },
    },
    costOf() {
      const { costUsd } = metered.used();
      const since = costUsd - reportedUsd;
      reportedUsd = costUsd;
      return since;
    },
    close,
  };
}

/** Asked for by name, else by the project's files. A name that is not there is given back with those that are. */
function findTaskEnvironment(
  { environments, default_environment: fallback }: Config["command_executor"],
  asked: string | undefined,
  listFiles: () => readonly string[],
): string | { readonly asked: string; readonly available: readonly string[] } {
  const available = Object.keys(environments);
  if (asked !== undefined && !available.includes(asked)) return { asked, available };
  const files = listFiles();
  return chooseEnvironment({ available, fallback, files, ...(asked !== undefined && { asked }) }).name;
}

export interface WantedWorker {
  readonly id: string;
  /** One that has the CLI; null: the environment's, with the CLI over it. */
  readonly image: string | null;
  readonly environment: string;
}

export interface TaskFileDeps {
  readonly root: string;
  readonly config: Pick<Config, "tasks" | "roles" | "coder" | "command_executor">;
  readonly texts: TaskMessages;
  /** The worker CLI: of the file, else of `roles.coder.head`. */
  readonly workerKind: string;
  readonly workerImage: string;
  filesOf(id: string): StoredTaskFiles;
  listFiles(): readonly string[];
  readText(path: string): string | null;
  relativePath(path: string): string;
  openAccount(request: {
    readonly id: string;
    readonly role: ModelRole | null;
  }): Promise<TaskAccount | TaskAccountRefusal>;
  openExecutor(
    wanted: WantedWorker,
    files: StoredTaskFiles,
  ): { readonly executor: WorkerExecutor; close(): Promise<void> };
  newId(): string;
  now(): Date;
  clock(): number;
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

export interface WorkerDeps
  extends Pick<TaskFileDeps, "config" | "texts" | "filesOf" | "listFiles" | "openExecutor" | "newId"> {
  refuse(message: string, exitCode: 2): NotOpened;
}

/** A worker CLI that a program drives by itself: holds the task until the program closes it. */
export async function openWorkerFor(
  deps: WorkerDeps,
  { taskId: id = deps.newId(), environment: asked, image }: WorkerChoices,
): Promise<OpenedWorker | NotOpened> {
  const { config, texts, refuse } = deps;
  const environment = findTaskEnvironment(config.command_executor, asked, deps.listFiles);
  if (typeof environment !== "string") return refuse(texts.unknownEnvironment(environment), 2);
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(id)) return refuse(texts.unknownTask(id), 2);
  const files = deps.filesOf(id);
  const claim = files.claim();
  if (claim === null) return refuse(texts.taskBusy(id), 2);
  const { executor, close } = deps.openExecutor({ id, image: image ?? null, environment }, files);
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

/** Runs task files, each with the worker CLI that it names, else with the one of `roles.coder.head`. */
export function createRunTaskFile(
  { config, texts }: Pick<TaskFileDeps, "config" | "texts">,
  openWorker: (kind: WorkerKindName, request: TaskRequest) => TaskFileDeps,
): (request: TaskRequest) => Promise<TaskRun> {
  return async (request) => {
    const { head } = config.roles.coder;
    const kind = request.file.runner.worker.kind ?? workerOfHead(head);
    if (kind === null) return { ok: false, code: "no-worker", text: texts.noWorker(head) };
    return runTaskFile(openWorker(kind, request), request);
  };
}

/** Holds the task, opens what it needs, lets it run, and gives everything back. */
async function runTaskFile(deps: TaskFileDeps, request: TaskRequest): Promise<TaskRun> {
  const id = request.resume ?? request.file.task.id ?? deps.newId();
  const files = deps.filesOf(id);
  const claim = files.claim();
  if (claim === null) return { ok: false, code: "task-busy", text: deps.texts.taskBusy(id) };
  try {
    return await runClaimed(deps, request, { id, files });
  } finally {
    claim.release();
  }
}

async function runClaimed(
  deps: TaskFileDeps,
  request: TaskRequest,
  { id, files }: { readonly id: string; readonly files: StoredTaskFiles },
): Promise<TaskRun> {
  const { config, texts } = deps;
  const { worker, meta: planner } = request.file.runner;
  const before = recordOf(files.events());
  if (request.resume !== undefined && before === null)
    return { ok: false, code: "unknown-task", text: texts.unknownTask(id) };
  if (request.resume !== undefined && before?.state === "COMPLETE")
    return { ok: false, code: "task-complete", text: texts.taskDone(id) };
  const environment = findTaskEnvironment(config.command_executor, worker.environment, deps.listFiles);
  if (typeof environment !== "string")
    return { ok: false, code: "unknown-environment", text: texts.unknownEnvironment(environment) };
  const withoutMeta = request.noMeta || (request.resume !== undefined && before?.facts.meta === null);
  const role = (planner.model ?? config.roles.default_coder) as ModelRole;
  const account = await deps.openAccount({ id, role: withoutMeta ? null : role });
  if ("code" in account && !withoutMeta) {
    const text = texts.noModel({ code: account.code, detail: account.message });
    return { ok: false, code: "no-model", text };
  }
  // Work that cannot be counted is done all the same: only a planner needs the store.
  const meta = "code" in account ? null : account;
  const image = `${deps.workerImage} + ${environment}`;
  const start =
    request.resume === undefined
      ? toTaskFacts(deps, request.file, { id, meta: meta?.model ?? null, image })
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
  const container = { id, image: worker.docker_image ?? null, environment };
  const { executor, close } = deps.openExecutor(container, files);
  try {
    const { record, interrupted } = await runTask(
      {
        files,
        executor,
        meta: meta?.model ?? null,
        ...(meta && { costOf: meta.costOf, workers: meta.workers }),
        ...(planner.system_prompt && { metaSystemPrompt: planner.system_prompt }),
        patience: createPatience({
          limitMs: config.tasks.patience * 1000,
          clock: deps.clock,
          pause: deps.pause,
          onWait: ({ message }, ms) =>
            request.onProgress({ kind: "setup", text: `${message} (${Math.ceil(ms / 1000)} s)` }),
        }),
        messages: texts,
        now: deps.now,
        signal: request.signal,
        preview: request.preview,
        notes: worker.kind === undefined ? [texts.workerByHead(deps.workerKind)] : [],
        attempts: config.coder.attempts,
        onRecord: request.onRecord,
        onProgress: request.onProgress,
      },
      start,
    );
    return {
      ok: true,
      record,
      interrupted: interrupted && !isEnded(record.state),
      note: deps.relativePath(files.notePath),
      json: taskJson(record),
    };
  } finally {
    await close();
    await meta?.close();
  }
}

function toTaskFacts(
  { root, readText, workerKind }: TaskFileDeps,
  { task, runner }: TaskFile,
  { id, meta, image }: { readonly id: string; readonly meta: Model | null; readonly image: string },
): TaskFacts | { readonly unreadable: string } {
  const path = "path" in task.prd ? task.prd.path : "";
  const prd = "text" in task.prd ? task.prd.text : attemptOr(null, () => readText(path));
  if (prd === null) return { unreadable: path };
  return {
    id,
    title: task.title ?? (prd.trim().split("\n")[0] ?? "").slice(0, 80) ?? id,
    repo: root,
    description: task.description ?? "",
    prd,
    test: task.test === undefined ? null : { command: task.test.command, cwd: task.test.cwd ?? "" },
    kind: workerKind,
    image: runner.worker.docker_image ?? image,
    maxLoops: runner.max_loops,
    maxRunTimeSec: runner.worker.max_run_time_sec,
    maxTotalTimeSec: runner.max_total_time_sec,
    envNames: Object.keys(runner.worker.env),
    meta: meta === null ? null : `${meta.provider}/${meta.model}`,
  };
}
