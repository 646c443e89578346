import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Kysely } from "kysely";
import {
  createEnvironmentObserver,
  type EnvironmentCounts,
} from "../application/containers/observe-environments.ts";
import type { Meter, ModelCall } from "../application/models/meter.ts";
import type { Forge, ForgeFailure } from "../application/ports/forges.ts";
import type { NotOpened, Opened, Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { ModelTool } from "../application/ports/models.ts";
import type { Logger } from "../application/ports/platform.ts";
import type { OpenSolve, SolveStore, SolveTask } from "../application/ports/tasks.ts";
import { createWorkKeeper, type WorkKeeper } from "../application/serve/take-work.ts";
import { createContainerEnvironments } from "../application/tasks/container-environments.ts";
import { takeInTask } from "../application/tasks/intake.ts";
import { type SolveOptions, solveTask } from "../application/tasks/solve-task.ts";
import type { SolveDeps } from "../application/tasks/solve-work.ts";
import type { Config, Secrets } from "../config/config.ts";
import { readProjectSettings } from "../config/project-settings.ts";
import { WORKER_KIND_NAMES } from "../domain/config/worker-kind-names.ts";
import {
  byForge,
  type ForgeKind,
  forgeShape,
  itemUrl,
  type KnownSites,
  parseItemUrl,
} from "../domain/forges/forge-items.ts";
import { type SolveMessages, solveMessagesFor } from "../domain/texts/tasks.ts";
import { createOwnerNames, type OwnerNames } from "../infrastructure/engine/process-table.ts";
import { createForgeFetch } from "../infrastructure/forges/forge-fetch.ts";
import { createForge } from "../infrastructure/forges/forge-registry.ts";
import { createPublisher, sweepPublishFolders } from "../infrastructure/forges/publisher.ts";
import { pause, timers } from "../infrastructure/platform/timers.ts";
import { type OpenedQueue, openWorkQueue } from "../infrastructure/serve/work-queue.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { isWorkerKind, openSolveWorker } from "../infrastructure/tasks/run-cli.ts";
import { createSolveStore } from "../infrastructure/tasks/solve-store.ts";
import { findWorkerKind } from "../infrastructure/tasks/worker-kinds/find-kind.ts";
import { VERSION } from "../version.ts";
import { createChatMeter, memoryOptionsOf } from "./chat-memory.ts";
import { createEnvironments, type WiredEnvironments } from "./environments.ts";
import { openOwnStore } from "./store.ts";
import { type OpenedFolder, openWorkspace } from "./workspace.ts";

export interface ForgeOptions {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly onWait?: (failure: ForgeFailure, waitMs: number) => void;
}

const TRY_MS = 30_000;
/** GitHub's limits are by the hour. */
const PATIENCE_MS = 65 * 60_000;

/** The forge of that kind, as configured; a text names the variable that is missing. */
export async function openForge(
  kind: ForgeKind,
  { config, secrets, onWait }: ForgeOptions,
): Promise<Forge | string> {
  const settings = config.forges[kind];
  const token = secrets.resolve(settings.token);
  if (token === undefined) return settings.token?.replace(/^env:/, "") ?? `forges.${kind}.token`;
  const fetch = createForgeFetch({
    fetch: globalThis.fetch,
    timeoutMs: TRY_MS,
    patienceMs: PATIENCE_MS,
    now: Date.now,
    pause: pauseUnlessAborted,
    ...(onWait !== undefined && { onWait }),
  });
  return createForge(kind, {
    token,
    site: siteOf(kind, settings.base_url),
    baseUrl: settings.base_url,
    fetch,
    userAgent: `picoclaw/${VERSION}`,
  });
}

/** Where people look, told from where the API answers. */
export function siteOf(kind: ForgeKind, baseUrl: string | null): string {
  if (baseUrl === null) return forgeShape(kind).site;
  return baseUrl.replace(/\/+$/, "").replace(/\/api\/v\d+$/, "");
}

/** Self-hosted sites, so that their addresses are recognised. */
export function knownSites(config: Config): KnownSites {
  return byForge((kind) => {
    const { base_url: url } = config.forges[kind];
    return url === null ? [] : [siteOf(kind, url)];
  });
}

function pauseUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, ms);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables of the host's environment that git needs to reach a forge. */
const PASSED_VARIABLES = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
];
const NEWS_MS = 10_000;
const PROGRESS_MS = 5000;
const ORDERS_MS = 1000;
const GIT_MS = 300_000;

export interface TaskWiring {
  readonly env: Environment;
  readonly opened: OpenedFolder;
  readonly environments: WiredEnvironments;
  readonly meter: Meter;
  readonly store: SolveStore;
  readonly keeper: WorkKeeper;
  readonly owners: OwnerNames;
}

/** The dependencies of one task of a forge. */
export async function createSolveDeps(wiring: TaskWiring, forge: Forge, taskId: string): Promise<SolveDeps> {
  const { env, opened, meter, store, owners } = wiring;
  const { workspace, loaded, parts, messages } = opened;
  const { config, home } = loaded;
  const owner = owners.next();
  const metered = await meter.open({ chatKey: `task:${taskId}`, sessionId: taskId, groupId: taskId });
  return {
    forge,
    environments: await taskEnvironments(wiring),
    publisher: createPublisher({
      owner,
      folder: publishFolder(home),
      path: env.PATH ?? "",
      passed: passedVariables(env),
      timeoutMs: GIT_MS,
    }),
    store,
    model: () => metered.models.forRole(config.roles.default_coder),
    messages: solveMessagesFor(messages.locale),
    config: solveSettings(config),
    log: parts.logger,
    mask: workspace.mask,
    secrets: () => loaded.secrets.values(),
    now: parts.now,
    clock: parts.clock,
    readSettings: readProjectSettings,
    pause,
    uuid: randomUUID,
    costUsd: () => metered.used().costUsd,
    budgetNotices: metered.notices,
    workers: metered.workers,
    keeper: wiring.keeper,
  };
}

/** Where a change lies while it is published. */
export function publishFolder(home: string): string {
  return join(home, "publish");
}

async function taskEnvironments({ env, opened, environments }: TaskWiring) {
  const { tools, promptFragment } = await environments.modelSide();
  const { sandboxes, texts } = environments;
  const worker = {
    env,
    sandboxes,
    locale: opened.messages.locale,
    secrets: opened.loaded.secrets.values(),
    keyLimits: { requests: opened.config.tasks.key_requests, bytes: opened.config.tasks.key_traffic },
  };
  return createContainerEnvironments({
    manager: environments.manager,
    workerImage: (kind) => (isWorkerKind(kind) ? findWorkerKind(kind).image : kind),
    openWorker: (kind, info) => openSolveWorker(worker, kind, info),
    sandboxes,
    tools: tools as readonly ModelTool[],
    promptFragment,
    callTool: environments.callTool,
    describe: {
      event: (event) => (event.type === "step" ? texts.step(event.step, event.subject) : null),
      notice: texts.notice,
      failure: ({ code, subject, detail }) => texts.failure(code, subject, detail),
    },
  });
}

function passedVariables(env: Environment): Record<string, string> {
  const names = PASSED_VARIABLES.flatMap((name) => [name, name.toLowerCase()]);
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function solveSettings({ tasks, checks, command_executor: executor }: Config): SolveDeps["config"] {
  return {
    maxSteps: tasks.max_steps,
    patienceMs: tasks.patience * 1000,
    label: tasks.label,
    testCommand: checks.command,
    rules: tasks.rules,
    insecureHosts: executor.clone.insecure_hosts,
    allowCi: tasks.allow_ci_files,
    newsEveryMs: NEWS_MS,
    progressEveryMs: PROGRESS_MS,
    ordersEveryMs: ORDERS_MS,
  };
}

/** The solver of tasks from forges, for the command line and for `serve`. */
export interface Solver extends Opened {
  readonly secrets: Secrets;
  readonly texts: SolveMessages;
  readonly store: SolveStore;
  readonly log: Logger;
  /** For metrics. */
  readonly counts: () => EnvironmentCounts;
  /** Why no container can be made now, for a person; null when one can. */
  engineTrouble(signal: AbortSignal): Promise<string | null>;
  /** The dependencies of one task. */
  parts(forge: Forge, taskId: string): Promise<SolveDeps>;
  /** Null when another process works on it. */
  run(forge: Forge, taskId: string, options: SolveOptions): Promise<SolveTask | null>;
  close(): Promise<void>;
}

/** The parts that `serve` has open already; they stay open. */
export interface SolverChoices {
  readonly db: Kysely<Database>;
  readonly queue: OpenedQueue;
  readonly keeper: WorkKeeper;
  /** For whoever traces. */
  readonly onModelCall?: ((call: ModelCall) => void) | undefined;
}

export type OpenedSolver = { readonly ok: true; readonly solver: Solver } | NotOpened;

/** Opens tasks from forges: models, environments, publisher and store, wired by hand. */
export async function openSolver(
  env: Environment,
  options: OpenOptions,
  choices: SolverChoices | null = null,
): Promise<OpenedSolver> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { workspace, loaded, parts: workspaceParts, messages, warnings } = opened;
  const { config, secrets } = loaded;
  const { now, logger } = workspaceParts;
  const refuse = (message: string) => ({ ok: false, exitCode: 3, messages, problems: [], message }) as const;
  const observer = createEnvironmentObserver(logger);
  const environments = createEnvironments(env, loaded, observer);
  if ("detail" in environments) return refuse(environments.detail);
  const stored = await openOwnStore(loaded, { locale: messages.locale, now, given: choices?.db });
  if (!stored.ok) {
    await environments.close();
    return stored;
  }
  const { db } = stored;
  const { meter } = createChatMeter(memoryOptionsOf(env, opened, { onModelCall: choices?.onModelCall }), db);
  const owners = createOwnerNames(process.pid);
  const onTrouble = (error: unknown) =>
    logger.error("solve", "solve.store_failed", "solve.store_failed", {
      error: workspace.mask(String(error)),
    });
  const kept =
    choices ??
    (await openOwnQueue({ db, databaseUrl: secrets.resolve(config.database_url), owners, onTrouble }));
  const store = await createSolveStore({ db, now, ...kept.queue });
  sweepPublishFolders(publishFolder(loaded.home), { isGone: owners.isGone, now });
  const partsFor = (forge: Forge, taskId: string) =>
    createSolveDeps({ env, opened, environments, meter, store, keeper: kept.keeper, owners }, forge, taskId);
  return {
    ok: true,
    solver: {
      workspace,
      config,
      messages,
      warnings,
      secrets,
      texts: solveMessagesFor(messages.locale),
      store,
      log: logger,
      counts: observer.counts,
      async engineTrouble(signal) {
        const facts = await environments.sandboxes.describe(signal);
        if (facts.ok) return null;
        const why = environments.texts.failure("engine", facts.code, facts.detail);
        return `${why}\n${environments.texts.remedy("start-docker", config.command_executor.docker.host)}`;
      },
      parts: partsFor,
      run: async (forge, taskId, given) => solveTask(await partsFor(forge, taskId), taskId, given),
      async close() {
        await environments.close();
        if (choices === null) {
          kept.keeper.stop();
          await kept.queue.queue.close().catch(onTrouble);
        }
        await stored.close();
      },
    },
  };
}

/** For a process that works on one task: it claims, and says that it lives. */
async function openOwnQueue({
  db,
  databaseUrl,
  owners,
  onTrouble,
}: {
  readonly db: Kysely<Database>;
  readonly databaseUrl: string | undefined;
  readonly owners: OwnerNames;
  readonly onTrouble: (error: unknown) => void;
}): Promise<Pick<SolverChoices, "queue" | "keeper">> {
  const { isGone } = owners;
  const queue = await openWorkQueue({ db, databaseUrl, owner: owners.next(), isGone, timers, onTrouble });
  const keeper = createWorkKeeper({ queue: queue.queue, timers, onTrouble });
  await keeper.start();
  return { queue, keeper };
}

/** `solve URL`: takes an item in and carries it out in this process. */
export async function openSolve(
  env: Readonly<Record<string, string | undefined>>,
  options: OpenOptions,
): Promise<Opening<OpenSolve>> {
  const opened = await openSolver(env, options);
  if (!opened.ok) return opened;
  const { config, secrets, texts, store, run, engineTrouble } = opened.solver;
  return {
    ok: true,
    ...opened.solver,
    async solve({ url, worker: kind, candidates, fresh, signal, say, onStep }) {
      const item = parseItemUrl(url, knownSites(config));
      if (item === null) return { status: "refused", exitCode: 2, message: texts.notAnItem(url) };
      if (kind !== null && !isWorkerKind(kind))
        return { status: "refused", exitCode: 2, message: texts.unknownWorker(kind, WORKER_KIND_NAMES) };
      const forge = await openForge(item.forge, {
        config,
        secrets,
        onWait: ({ message }, ms) => say(`${message} (${Math.ceil(ms / 1000)} s)`),
      });
      if (typeof forge === "string")
        return { status: "refused", exitCode: 3, message: texts.noToken(item.forge, forge) };
      // Before anything is said on the issue.
      const trouble = await engineTrouble(signal);
      if (trouble !== null) return { status: "refused", exitCode: 3, message: trouble };
      const { task, began } = await takeInTask(
        { store, now: () => new Date(), uuid: randomUUID },
        { item, askedBy: "hand", trigger: "hand", worker: kind, candidates, fresh },
      );
      say(began === "new" ? texts.started(itemUrl(item)) : texts.resumed(itemUrl(item)));
      const ended = await run(forge, task.id, { signal, say, ...(onStep !== undefined && { onStep }) });
      if (ended === null)
        return { status: "refused", exitCode: 3, message: texts.alreadyRunning(itemUrl(item)) };
      return { status: "ended", task: ended, steps: await store.steps(ended.id) };
    },
  };
}
