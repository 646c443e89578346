import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { WorkKeeper } from "../application/serve/keep-work.ts";
import type { Meter } from "../application/models/meter.ts";
import type { Forge } from "../application/ports/forges.ts";
import type { ModelTool } from "../application/ports/models.ts";
import type { SolveStore } from "../application/ports/tasks.ts";
import { createContainerEnvironments } from "../application/tasks/container-environments.ts";
import type { SolveDeps } from "../application/tasks/solve-work.ts";
import type { Config } from "../config/config.ts";
import { readProjectSettings } from "../config/project-settings.ts";
import { solveMessagesFor } from "../domain/texts/texts.ts";
import { createPublisher } from "../infrastructure/forges/publisher.ts";
import { pause } from "../infrastructure/platform/timers.ts";
import { findWorkerKind } from "../infrastructure/tasks/worker-kinds/find-kind.ts";
import { isWorkerKind, openSolveWorker } from "../infrastructure/tasks/solve-worker.ts";
import type { OwnerNames } from "../infrastructure/engine/owner-name.ts";
import type { WiredEnvironments } from "./environments.ts";
import type { OpenedFolder } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What of the host's environment git needs to reach a forge. */
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

/** What one task of a forge is carried out with. */
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
