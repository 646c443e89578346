import type { Kysely } from "kysely";
import {
  createEnvironmentObserver,
  type EnvironmentCounts,
} from "../application/containers/observe-environments.ts";
import { createWorkKeeper, type WorkKeeper } from "../application/serve/keep-work.ts";
import type { ModelCall } from "../application/models/meter.ts";
import type { Forge } from "../application/ports/forges.ts";
import type { Logger } from "../application/ports/logger.ts";
import type { NotOpened, Opened, OpenOptions } from "../application/ports/opening.ts";
import type { SolveStore, SolveTask } from "../application/ports/tasks.ts";
import type { SolveOptions } from "../application/tasks/carry-out.ts";
import type { SolveDeps } from "../application/tasks/solve-work.ts";
import { solveTask } from "../application/tasks/solve-task.ts";
import type { Secrets } from "../config/secrets.ts";
import { memoryMessagesFor, type SolveMessages, solveMessagesFor } from "../domain/texts/texts.ts";
import { sweepPublishFolders } from "../infrastructure/forges/publish-folders.ts";
import { type OpenedQueue, openWorkQueue } from "../infrastructure/serve/open-work-queue.ts";
import { timers } from "../infrastructure/platform/runtime-timers.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { createSolveStore } from "../infrastructure/tasks/solve-store.ts";
import { createOwnerNames, type OwnerNames } from "../infrastructure/engine/owner-name.ts";
import { createChatMemory, memoryOptionsOf } from "./chat-memory.ts";
import { createEnvironments } from "./environments.ts";
import { createSolveDeps, publishFolder } from "./solve-task-parts.ts";
import { openStoreOnce } from "./store-once.ts";
import { openWorkspace } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What carries tasks from forges out, for the command line and for `serve`. */
export interface Solver extends Opened {
  readonly secrets: Secrets;
  readonly texts: SolveMessages;
  readonly store: SolveStore;
  readonly log: Logger;
  /** For metrics. */
  readonly counts: () => EnvironmentCounts;
  /** Why no container can be made now, for a person; null when one can. */
  engineTrouble(signal: AbortSignal): Promise<string | null>;
  /** What one task is carried out with. */
  parts(forge: Forge, taskId: string): Promise<SolveDeps>;
  /** Null when another process works on it. */
  run(forge: Forge, taskId: string, options: SolveOptions): Promise<SolveTask | null>;
  close(): Promise<void>;
}

/** What `serve` has open already; it stays open. */
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
  const stored = await openStoreOnce(choices?.db, loaded, now);
  if (!stored.ok) {
    await environments.close();
    return refuse(memoryMessagesFor(messages.locale).storeUnavailable(stored.trouble));
  }
  const { db } = stored;
  const { meter } = createChatMemory(memoryOptionsOf(env, opened, { onModelCall: choices?.onModelCall }), db);
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
