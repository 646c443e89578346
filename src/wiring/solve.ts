import { randomUUID } from "node:crypto";
import type { Kysely } from "kysely";
import { createEnvironmentObserver } from "../application/containers/observe-environments.ts";
import { describeEngineTrouble } from "../application/containers/open-environments.ts";
import { createAdvise } from "../application/platform/advise.ts";
import type { Forge } from "../application/ports/forges.ts";
import type { Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { ModelTool } from "../application/ports/models.ts";
import type { ModelCall } from "../application/ports/models-meter.ts";
import type { OpenSolve } from "../application/ports/tasks.ts";
import type { WorkKeeper } from "../application/serve/take-work.ts";
import { createContainerEnvironments } from "../application/tasks/container-environments.ts";
import { createSolveByHand } from "../application/tasks/forge-service.ts";
import { type SolveOptions, solveTask } from "../application/tasks/solve-task.ts";
import { type SolveDeps, solveSettings } from "../application/tasks/solve-work.ts";
import { keyLimits, mayUseLogins } from "../config/settings.ts";
import { readProjectSettings } from "../config/task-file.ts";
import { WORKER_KIND_NAMES } from "../domain/config/configured-kinds.ts";
import { solveMessagesFor } from "../domain/texts/tasks.ts";
import { openForge } from "../infrastructure/forges/forge-registry.ts";
import { gitVariables } from "../infrastructure/forges/host-git.ts";
import { createPublisher, openPublishFolder } from "../infrastructure/forges/publisher.ts";
import { createOwnerNames } from "../infrastructure/platform/process-table.ts";
import { pause, timers } from "../infrastructure/platform/timers.ts";
import { type OpenedQueue, openKeptQueue } from "../infrastructure/serve/work-queue.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { createSolveWorkers } from "../infrastructure/tasks/run-cli.ts";
import { createSolveStore } from "../infrastructure/tasks/solve-store.ts";
import { createEnvironments, type WiredEnvironments } from "./environments.ts";
import { openMeter } from "./meter.ts";
import { configuredForges } from "./project-forge.ts";
import type { Environment, Services } from "./services.ts";
import { openWorkspace } from "./workspace.ts";

/** The parts that `serve` has open already; they stay open. */
export interface SolverChoices {
  readonly db: Kysely<Database>;
  readonly queue: OpenedQueue;
  readonly keeper: WorkKeeper;
  /** For tracing. */
  readonly onModelCall?: ((call: ModelCall) => void) | undefined;
}

const GIT_MS = 300_000;

/** Opens tasks from forges: models, environments, publisher and store, wired by hand. */
export async function openSolver(
  env: Environment,
  options: OpenOptions,
  choices: SolverChoices | null = null,
) {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { workspace, services, deps, messages, warnings } = opened;
  const { config, secrets, log } = services;
  const texts = solveMessagesFor(services.locale);
  const observer = createEnvironmentObserver(log);
  const environments = createEnvironments(services, observer);
  if ("detail" in environments) return services.refuse(environments.detail);
  const stored = await services.openStore({ given: choices?.db });
  if (!stored.ok) {
    await environments.close();
    return stored;
  }
  const { db } = stored;
  const models = await services.models(workspace.mask);
  const { onModelCall } = choices ?? {};
  const { meter } = openMeter(services, { db, root: workspace.root, models, onModelCall });
  const owners = createOwnerNames(process.pid);
  const onTrouble = (error: unknown) =>
    log.error("solve", "solve.store_failed", "solve.store_failed", { error: workspace.mask(String(error)) });
  const { databaseUrl } = services;
  const { isGone } = owners;
  const kept =
    choices ?? (await openKeptQueue({ db, databaseUrl, owner: owners.next(), isGone, timers, onTrouble }));
  const store = await createSolveStore({ db, now: deps.now, ...kept.queue });
  const publishFolder = openPublishFolder(services.home, { isGone, now: deps.now });
  const solveDeps = async (forge: Forge, taskId: string): Promise<SolveDeps> => {
    const coder = config.roles.default_coder;
    const context = { chatKey: `task:${taskId}`, sessionId: taskId, groupId: taskId };
    const metered = await meter.open(context, {}, coder);
    return {
      forge,
      environments: await taskEnvironments(services, environments),
      publisher: createPublisher({
        owner: owners.next(),
        folder: publishFolder,
        path: env.PATH ?? "",
        passed: gitVariables(env),
        timeoutMs: GIT_MS,
      }),
      store,
      model: () => metered.models.forRole(coder),
      messages: texts,
      config: solveSettings(config),
      log,
      advise: createAdvise(log),
      mask: workspace.mask,
      secrets: () => secrets.values(),
      now: deps.now,
      clock: deps.clock,
      readSettings: readProjectSettings,
      pause,
      uuid: randomUUID,
      costUsd: () => metered.used().costUsd,
      budgetNotices: metered.notices,
      workers: metered.workers,
      keeper: kept.keeper,
    };
  };
  return {
    ok: true as const,
    /** The solver of tasks from forges, for the command line and for `serve`. */
    solver: {
      workspace,
      config,
      messages,
      warnings,
      secrets,
      texts,
      store,
      log,
      counts: observer.counts,
      engineTrouble: (signal: AbortSignal) => describeEngineTrouble(environments, signal),
      deps: solveDeps,
      run: async (forge: Forge, taskId: string, given: SolveOptions) =>
        solveTask(await solveDeps(forge, taskId), taskId, given),
      async close() {
        await environments.close();
        if ("close" in kept) await kept.close();
        await stored.close();
      },
    },
  };
}

async function taskEnvironments(services: Services, environments: WiredEnvironments) {
  const { env, locale, secrets, config } = services;
  const { tools, promptFragment } = await environments.modelSide();
  const { sandboxes, texts, manager, callTool } = environments;
  return createContainerEnvironments({
    manager,
    ...createSolveWorkers({
      env,
      sandboxes,
      locale,
      secrets: secrets.values(),
      keyLimits: keyLimits(config),
      mayUseLogins: (kind) => mayUseLogins(config, kind),
    }),
    sandboxes,
    tools: tools as readonly ModelTool[],
    promptFragment,
    callTool,
    openClone: async (info, clone) =>
      (await import("./container-toolkits.ts")).openClone(environments.toolParts, info, clone),
    texts,
  });
}

export type Solver = Extract<Awaited<ReturnType<typeof openSolver>>, { ok: true }>["solver"];

/** `solve URL`. */
export async function openSolve(env: Environment, options: OpenOptions): Promise<Opening<OpenSolve>> {
  const opened = await openSolver(env, options);
  if (!opened.ok) return opened;
  const { solver } = opened;
  const solve = createSolveByHand({
    ...solver,
    workerKinds: WORKER_KIND_NAMES,
    openForge: (kind, onWait) => openForge(kind, { ...configuredForges(solver), onWait }),
    uuid: randomUUID,
    now: timers.now,
  });
  return { ok: true, ...solver, solve };
}
