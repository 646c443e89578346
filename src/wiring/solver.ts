import { join } from "node:path";
import type { Forge } from "../application/ports/forge.ts";
import type { Logger } from "../application/ports/logger.ts";
import type { ModelTool } from "../application/ports/model.ts";
import type { NotOpened, Opened, OpenOptions } from "../application/ports/opening.ts";
import type { SolveStore, SolveTask } from "../application/ports/solve-store.ts";
import { createContainerEnvironments } from "../application/tasks/container-environments.ts";
import type { SolveParts } from "../application/tasks/solve-parts.ts";
import { type SolveOptions, solveTask } from "../application/tasks/solve-task.ts";
import type { Secrets } from "../config/secrets.ts";
import { costBy } from "../domain/models/cost.ts";
import { type SolveMessages, solveMessagesFor } from "../domain/texts/solve/messages.ts";
import { createPublisher } from "../infrastructure/forges/publisher.ts";
import { openMigratedStore } from "../infrastructure/store/open-store.ts";
import { createSolveStore } from "../infrastructure/store/solve-store.ts";
import { findWorkerKind } from "../infrastructure/tasks/workers/find-kind.ts";
import {
  isWorkerKind,
  openSolveWorker,
  WORKER_ENVIRONMENTS,
} from "../infrastructure/tasks/workers/solve-worker.ts";
import { createOwnerNames } from "../infrastructure/work/process/owner-name.ts";
import { openChatMemory } from "./chat-memory.ts";
import { createEnvironments } from "./environments.ts";
import { openModels } from "./models.ts";
import { openWorkspace } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What of the host's environment git needs to reach a forge. */
const PASSED = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"];
const NEWS_MS = 15_000;
const PROGRESS_MS = 5000;
const RENEW_MS = 15_000;
const GIT_MS = 300_000;

/** What carries tasks from forges out, for the command line and for `serve`. */
export interface Solver extends Opened {
  readonly secrets: Secrets;
  readonly texts: SolveMessages;
  readonly store: SolveStore;
  readonly log: Logger;
  readonly isGone: (owner: string) => boolean;
  /** Why no container can be made now, for a person; null when one can. */
  engineTrouble(signal: AbortSignal): Promise<string | null>;
  /** What one task is carried out with. */
  parts(forge: Forge, taskId: string): Promise<SolveParts>;
  /** Null when another process works on it. */
  run(forge: Forge, taskId: string, options: SolveOptions): Promise<SolveTask | null>;
  close(): Promise<void>;
}

export type OpenedSolver = { readonly ok: true; readonly solver: Solver } | NotOpened;

/** Opens tasks from forges: models, environments, publisher and store, wired by hand. */
export async function openSolver(env: Environment, options: OpenOptions): Promise<OpenedSolver> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { workspace, loaded, parts: workspaceParts, messages, warnings } = opened;
  const { config, home, secrets } = loaded;
  const { locale } = messages;
  const texts = solveMessagesFor(locale);
  const { now, clock, logger } = workspaceParts;
  const databaseUrl = secrets.resolve(config.database_url);
  const models = openModels(config, secrets, { locale, home, env, mask: workspace.mask });
  const remembered = await openChatMemory({
    home,
    config,
    databaseUrl,
    models,
    costOf: costBy(config.budget.prices),
    log: logger,
    locale,
    mask: workspace.mask,
    workspace: workspace.root,
    now,
    pid: process.pid,
  });
  const refuse = (message: string) => ({ ok: false, exitCode: 3, messages, problems: [], message }) as const;
  if (!remembered.ok) return refuse(remembered.message);
  const { memory } = remembered;
  const { environments: named } = config.command_executor;
  const environments = createEnvironments(env, {
    ...loaded,
    config: {
      ...config,
      command_executor: { ...config.command_executor, environments: { ...named, ...WORKER_ENVIRONMENTS } },
    },
  });
  const opening = await openMigratedStore({ home, databaseUrl }, now);
  if ("detail" in environments || !opening.ok) {
    await memory.close();
    return refuse("detail" in environments ? environments.detail : !opening.ok ? opening.trouble.detail : "");
  }
  const { db } = opening;
  const store = await createSolveStore(db, now);
  const owners = createOwnerNames(process.pid);
  const partsFor = async (forge: Forge, taskId: string): Promise<SolveParts> => {
    const metered = await memory.meter.open({
      chatKey: `task:${taskId}`,
      sessionId: taskId,
      groupId: taskId,
    });
    const { tools, promptFragment } = await environments.modelSide();
    return {
      forge,
      environments: createContainerEnvironments({
        manager: environments.manager,
        hidden: Object.keys(WORKER_ENVIRONMENTS),
        workerEnvironment: (kind) => (isWorkerKind(kind) ? findWorkerKind(kind).image : kind),
        openWorker: (kind, info) =>
          openSolveWorker(
            { env, sandboxes: environments.sandboxes, locale, secrets: secrets.values() },
            kind,
            info,
          ),
        sandboxes: environments.sandboxes,
        tools: tools as readonly ModelTool[],
        promptFragment,
        callTool: environments.callTool,
        describe: {
          event: (event) =>
            event.type === "step" ? environments.texts.step(event.step, event.subject) : null,
          notice: environments.texts.notice,
          failure: ({ code, subject, detail }) => environments.texts.failure(code, subject, detail),
        },
      }),
      publisher: createPublisher({
        folder: join(home, "publish"),
        path: env.PATH ?? "",
        passed: Object.fromEntries(
          PASSED.flatMap((name) => [name, name.toLowerCase()]).flatMap((name) =>
            env[name] === undefined ? [] : [[name, env[name]]],
          ),
        ),
        timeoutMs: GIT_MS,
      }),
      store,
      model: () => metered.models.forRole(config.roles.default_coder),
      messages: texts,
      config: {
        maxSteps: config.tasks.max_steps,
        label: config.tasks.label,
        testCommand: config.tasks.test_command,
        rules: config.tasks.rules,
        insecureHosts: config.command_executor.clone.insecure_hosts,
        newsEveryMs: NEWS_MS,
        progressEveryMs: PROGRESS_MS,
        renewEveryMs: RENEW_MS,
      },
      log: logger,
      mask: workspace.mask,
      now,
      clock,
      owner: owners.next(),
      isGone: owners.isGone,
    };
  };
  return {
    ok: true,
    solver: {
      workspace,
      config,
      messages,
      warnings,
      secrets,
      texts,
      store,
      log: logger,
      isGone: owners.isGone,
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
        await memory.close();
        await db.destroy();
      },
    },
  };
}
