import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative, resolve } from "node:path";
import { createPatience } from "../application/models/patience.ts";
import type { Model, ModelRole } from "../application/ports/models.ts";
import type { Opening, OpenOptions } from "../application/ports/opening.ts";
import { runTask } from "../application/tasks/run-task.ts";
import type { OpenTasks, TaskRequest, TaskRun } from "../application/ports/task-runs.ts";
import { resolveLocale } from "../config/locale.ts";
import { chooseEnvironment } from "../domain/containers/choose-environment.ts";
import { createMasker } from "../domain/policy/mask.ts";
import type { TaskFacts } from "../domain/tasks/events.ts";
import { isEnded } from "../domain/tasks/state.ts";
import { taskJson } from "../domain/tasks/task-note.ts";
import { recordOf } from "../domain/tasks/task-record.ts";
import { taskMessagesFor } from "../domain/texts/texts.ts";
import { pause } from "../infrastructure/platform/timers.ts";
import { createTaskFiles } from "../infrastructure/tasks/task-files.ts";
import { findCredentials } from "../infrastructure/tasks/credentials.ts";
import { findWorkerKind } from "../infrastructure/tasks/worker-kinds/find-kind.ts";
import type { WorkerKind } from "../infrastructure/tasks/worker-kinds/worker-kind.ts";
import { createProjectFiles } from "../tools/read/project-files.ts";
import { openTaskAccount } from "./task-account.ts";
import { openTaskExecutor } from "./task-executor.ts";
import { type OpenedFolder, openWorkspace } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

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
    // What cannot be counted is done all the same: only a planner needs the store.
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

/** What looks like a token in a login's files must not appear in a note. */
function tokensIn({ files }: ReturnType<typeof findCredentials>): string[] {
  const decoder = new TextDecoder();
  return files.flatMap(({ path, bytes }) =>
    path.endsWith(".json") ? (decoder.decode(bytes).match(/(?<=")[\w./+=-]{24,}(?=")/g) ?? []) : [],
  );
}
