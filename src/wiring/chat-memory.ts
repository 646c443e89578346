import type { Kysely } from "kysely";
import { type ChatQueue, createChatQueue } from "../application/chat/chat-queue.ts";
import { type ChatDeps, groupPrefix } from "../application/chat/chat-turn.ts";
import { memoryCommands, memoryLooks } from "../application/chat/memory-commands.ts";
import { type ModelCommandDeps, modelCommands } from "../application/chat/model-commands.ts";
import { createRouter, createRouteTeacher, type Router } from "../application/chat/route-message.ts";
import { createSessions, cutSessionsOnTime, type Sessions } from "../application/chat/sessions.ts";
import { createSummarise } from "../application/chat/summarise.ts";
import { createJobHistory } from "../application/coder/job-history.ts";
import { createMeter, type Meter, type ModelCall } from "../application/models/meter.ts";
import type { JobArchive } from "../application/ports/jobs.ts";
import type { Model, Models, ModelUsage, UsageStore } from "../application/ports/models.ts";
import type { Logger } from "../application/ports/platform.ts";
import type { Config, LoadedConfig } from "../config/config.ts";
import { compileRules, compileTrustedRule } from "../domain/chat/routing-rules.ts";
import { createDayClock, type DayClock, resolveTimeZone } from "../domain/chat/session.ts";
import { SHIPPED_RULES } from "../domain/chat/shipped-rules.ts";
import { type Catalogue, costBy } from "../domain/models/catalogue.ts";
import { memoryMessagesFor } from "../domain/texts/chat.ts";
import type { Locale } from "../domain/texts/locale.ts";
import { createRoutingStore } from "../infrastructure/chat/routing-store.ts";
import { createSessionStore } from "../infrastructure/chat/session-store.ts";
import { createOwnerNames } from "../infrastructure/engine/process-table.ts";
import { workspaceName } from "../infrastructure/fleet/workspace-name.ts";
import { loadCatalogue } from "../infrastructure/models/own-catalogue.ts";
import { createUsageStore } from "../infrastructure/models/usage-store.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { createChatTurns } from "../infrastructure/serve/chat-turns.ts";
import type { HeldTurn, TurnFenceDeps } from "../infrastructure/store/liveness.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { openModels } from "./models.ts";
import type { OpenedFolder } from "./workspace.ts";

/** The configured store's name for a workspace of this machine. */
export function workspaceNameOf(
  { config, home, secrets }: Pick<LoadedConfig, "config" | "home" | "secrets">,
  root: string,
): string {
  return workspaceName({ home, databaseUrl: secrets.resolve(config.database_url), root });
}

/** The memory and the decisions of a conversation: everything of it that is in the store. */
export interface ChatMemory {
  readonly sessions: Sessions;
  readonly router: Router;
  readonly queue: ChatQueue;
  readonly meter: Meter;
  readonly usage: UsageStore;
  /** `/why`, `/route`, `/new`, `/usage`, … */
  readonly commands: ChatDeps["commands"];
  /** Those of them that only look. */
  readonly looks: ChatDeps["looks"];
  /** Ends sessions with their day, though nobody speaks, until told to stop. */
  keepTime(): () => void;
}

export interface ChatMemoryOptions {
  readonly config: Pick<Config, "routing" | "session" | "budget" | "coder" | "roles" | "providers">;
  readonly models: Models;
  readonly catalogue: Catalogue;
  readonly costOf: (model: Pick<Model, "provider" | "model" | "local">, usage: ModelUsage) => number | null;
  readonly log: Logger;
  readonly locale: Locale;
  readonly mask: (text: string) => string;
  /** The workspace whose chats are remembered, as the store names it. */
  readonly workspace: string;
  /** Its jobs. */
  readonly archive: JobArchive;
  readonly now: () => Date;
  readonly pid: number;
  /** The name under which the queue of this process says that it lives, where there is one. */
  readonly process?: string | undefined;
  /** For whoever traces. */
  readonly onModelCall?: ((call: ModelCall) => void) | undefined;
}

const CLASSIFIER_TIMEOUT_MS = 20_000;
const SUMMARY_TIMEOUT_MS = 30_000;
const LOOK_MS = 1_000;
const POLL_MS = 100;

/** Writes down what models are asked for and keeps it within the budget; a part of the memory that others need alone. */
export function createChatMeter(
  options: ChatMemoryOptions,
  db: Kysely<Database>,
  held?: TurnFenceDeps["held"],
): { readonly meter: Meter; readonly usage: UsageStore; readonly clock: DayClock } {
  const { config, models, log, now } = options;
  const clock = createDayClock(resolveTimeZone(config.session.timezone), config.session.cutover);
  const usage = createUsageStore(db, held);
  const meter = createMeter({
    models,
    usage,
    costOf: options.costOf,
    budget: { ...config.budget, perMessage: config.coder.budget_usd },
    fallback: config.coder.fallback,
    now,
    log,
    startOfDay: clock.startOfDay,
    onCall: options.onModelCall,
  });
  return { meter, usage, clock };
}

export function createChatMemory(options: ChatMemoryOptions, db: Kysely<Database>): ChatMemory {
  const { config, models, log, mask, now, workspace } = options;
  const held = new Map<string, HeldTurn>();
  const { meter, usage, clock } = createChatMeter(options, db, held);
  const owners = createOwnerNames(options.pid);
  const rules = once(() => rulesOf(options));
  const routing = createRoutingStore({ db, workspace });
  const sessions = createSessions({
    store: createSessionStore({ db, now, workspace, held }),
    clock,
    now,
    summarise: createSummarise({
      modelsFor: async (session) => (await meter.open({ ...session, groupId: "" })).models,
      log,
      timeoutMs: SUMMARY_TIMEOUT_MS,
    }),
    jobsOf: (chatKey) => createJobHistory(options.archive, groupPrefix(chatKey)),
    log,
    mask,
    historyTokens: config.session.history_tokens,
    summaryTokens: config.session.summary_tokens,
  });
  const queue = createChatQueue({
    turns: createChatTurns({
      db,
      workspace,
      held,
      process: options.process ?? owners.next(),
      isGone: owners.isGone,
      newId: owners.next,
      beatsElsewhere: options.process !== undefined,
    }),
    now,
    lookMs: LOOK_MS,
    pollMs: POLL_MS,
    setTimer,
    retry: (run, ms) => void timers.after(ms, run),
  });
  const told = {
    teacher: createRouteTeacher({ store: routing, configured: () => rules().configured, now }),
    usage,
    daily: config.budget.daily,
    clock,
    ruleProblems: () => rules().problems,
  };
  return {
    sessions,
    queue,
    router: createRouter({
      store: routing,
      rules,
      threshold: config.routing.threshold,
      hasCoder: (role) => "generate" in models.forRole(role),
      classifierTimeoutMs: CLASSIFIER_TIMEOUT_MS,
      log,
      mask,
      now,
    }),
    meter,
    usage,
    commands: { ...memoryCommands(told), ...modelCommands(modelDepsOf(options)) },
    looks: memoryLooks(told),
    keepTime: () =>
      cutSessionsOnTime({
        sessions,
        queue,
        now,
        // A pending midnight timer does not keep the process from exiting.
        setTimer: (run, ms) => timers.after(ms, run),
        onTrouble: (cause) =>
          log.error("session", "Cut-over failed", "session.cut_over_failed", { error: String(cause) }),
      }),
  };
}

/** The choices of `/model` and `/effort`. */
function modelDepsOf({ config, models, catalogue }: ChatMemoryOptions): ModelCommandDeps {
  const { roles, providers } = config;
  return {
    models,
    catalogue,
    providers: [
      { name: "ollama", model: null },
      ...Object.entries(providers).map(([name, { model }]) => ({ name, model })),
    ],
    defaultCoder: roles.default_coder,
    effortOf: (role, provider) => roles[role].effort ?? providers[provider]?.effort ?? null,
  };
}

/** The shipped rules and those of the configuration; one that is refused is logged. */
function rulesOf({ config, log, locale }: ChatMemoryOptions) {
  const { rules: configured, problems } = compileRules(config.routing.rules, "config", () =>
    performance.now(),
  );
  const words = memoryMessagesFor(locale);
  for (const problem of problems)
    log.warn("routing", "Rule refused", "routing.rule_refused", { problem: words.ruleProblem(problem) });
  return { configured, problems, shipped: SHIPPED_RULES.map((rule) => compileTrustedRule(rule, "shipped")) };
}

/** The parts of an opened workspace that make up the memory. */
export function memoryOptionsOf(
  env: Readonly<Record<string, string | undefined>>,
  { workspace, loaded, parts, messages }: OpenedFolder,
  choices: Partial<Pick<ChatMemoryOptions, "models" | "now" | "onModelCall" | "process">> = {},
): ChatMemoryOptions {
  const { config, home, secrets } = loaded;
  const { locale } = messages;
  const { catalogue, trouble } = loadCatalogue(home);
  if (trouble !== null)
    parts.logger.warn("models", "Table of models not usable", "models.table_refused", { ...trouble });
  return {
    config,
    catalogue,
    models: choices.models ?? openModels(config, secrets, { locale, home, env, mask: workspace.mask }),
    costOf: costBy(config.budget.prices, catalogue),
    log: parts.logger,
    locale,
    mask: workspace.mask,
    workspace: workspaceNameOf(loaded, workspace.root),
    archive: workspace.archive,
    now: choices.now ?? parts.now,
    pid: process.pid,
    onModelCall: choices.onModelCall,
    process: choices.process,
  };
}

function setTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Rules are compiled for the first message that needs them: one with a command does not. */
function once<T>(make: () => T): () => T {
  const made: T[] = [];
  return () => {
    if (made.length === 0) made.push(make());
    return made[0] as T;
  };
}
