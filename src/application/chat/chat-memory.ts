import type { Config } from "../../config/config.ts";
import { compileRules, compileTrustedRule, SHIPPED_RULES } from "../../domain/chat/routing-rules.ts";
import type { Catalogue } from "../../domain/models/catalogue.ts";
import type { MemoryMessages } from "../../domain/texts/chat.ts";
import { chatKeyOf, type NamedChat, type NamedChats, type RoutingStore } from "../ports/chat.ts";
import type { JobArchive } from "../ports/jobs.ts";
import type { Model, ModelFailure, Models, UsageStore } from "../ports/models.ts";
import type { Meter } from "../ports/models-meter.ts";
import type { Timers } from "../ports/platform.ts";
import type { ChatQueue } from "./chat-queue.ts";
import { type ChatCommand, type ChatDeps, groupPrefix, type LookCommand } from "./chat-turn.ts";
import { createJobHistory } from "./job-history.ts";
import { memoryCommands, memoryLooks } from "./memory-commands.ts";
import { type ModelCommandDeps, modelCommands } from "./model-commands.ts";
import { createRouter, createRouteTeacher, type Router } from "./route-message.ts";
import { createSessions, cutSessionsOnTime, type SessionDeps, type Sessions } from "./sessions.ts";
import { createSummarise } from "./summarise.ts";

/** The memory and the decisions of a conversation: everything of it that is in the store. */
export interface ChatMemory {
  readonly sessions: Sessions;
  readonly router: Router;
  /** `/why`, `/route`, `/new`, `/usage`, … */
  readonly commands: ChatDeps["commands"];
  readonly looks: ChatDeps["looks"];
  /** Ends sessions with their day, even without a message, until it is stopped. */
  keepTime(): () => void;
}

export interface ChatMemoryDeps extends Pick<SessionDeps, "store" | "clock" | "log" | "mask" | "now"> {
  readonly config: Pick<Config, "routing" | "session" | "budget" | "roles" | "providers">;
  readonly routing: RoutingStore;
  readonly queue: ChatQueue;
  readonly models: Models;
  readonly catalogue: Catalogue;
  readonly meter: Meter;
  readonly usage: UsageStore;
  readonly archive: JobArchive;
  readonly words: MemoryMessages;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  readonly timers: Timers;
}

const CLASSIFIER_TIMEOUT_MS = 20_000;
const SUMMARY_TIMEOUT_MS = 30_000;

/** Tokens assumed for a window of unknown size. */
const SMALL_WINDOW = 8_192;
const HISTORY = { share: 1 / 8, least: 2_048, most: 64_000 };

/** The smaller window of those who answer decides how much of a conversation they are given. */
export function historyBudget(
  models: readonly (Pick<Model, "window" | "model" | "isAway"> | ModelFailure)[],
): number {
  const windows = models.flatMap((one) =>
    "model" in one && !one.isAway ? [one.window ?? SMALL_WINDOW] : [],
  );
  const smallest = windows.length === 0 ? SMALL_WINDOW : Math.min(...windows);
  return Math.min(HISTORY.most, Math.max(HISTORY.least, Math.floor(smallest * HISTORY.share)));
}

export function createChatMemory(deps: ChatMemoryDeps): ChatMemory {
  const { config, models, routing, meter, usage, clock, queue, log, mask, now } = deps;
  let read: ReturnType<typeof readRules> | null = null;
  // For the first message that needs them: one with a command does not.
  const rules = () => {
    read ??= readRules(deps);
    return read;
  };
  const historyTokens = () =>
    config.session.history_tokens ??
    historyBudget([models.forRole("chat"), models.forRole(config.roles.default_coder)]);
  const sessions = createSessions({
    store: deps.store,
    clock,
    now,
    summarise: createSummarise({
      modelsFor: async (session) => (await meter.open({ ...session, groupId: "" }, {}, "chat")).models,
      log,
      timeoutMs: SUMMARY_TIMEOUT_MS,
    }),
    jobsOf: (chatKey) => createJobHistory(deps.archive, groupPrefix(chatKey)),
    log,
    mask,
    historyTokens,
    summaryTokens: config.session.summary_tokens,
  });
  const common = {
    teacher: createRouteTeacher({ store: routing, configured: () => rules().configured, now }),
    usage,
    daily: config.budget.daily,
    clock,
    ruleProblems: () => rules().problems,
  };
  const { roles, providers } = config;
  const modelDeps: ModelCommandDeps = {
    models,
    catalogue: deps.catalogue,
    providers: [
      { name: "ollama", model: null },
      ...Object.entries(providers).map(([name, { model }]) => ({ name, model })),
    ],
    defaultCoder: roles.default_coder,
    effortOf: (role, provider) => roles[role].effort ?? providers[provider]?.effort ?? null,
  };
  const state = { ...common, models: modelDeps, historyTokens };
  // Loaded on the first use.
  const loadState = () => import("./state-commands.ts");
  const status: LookCommand = async (chat, look) => (await loadState()).tellStatus(state, chat, look);
  const context: ChatCommand = async (chat, turn) => (await loadState()).tellContext(state, chat, turn);
  return {
    sessions,
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
    commands: { ...memoryCommands(common), ...modelCommands(modelDeps), context },
    looks: { ...memoryLooks(common), status },
    keepTime: () =>
      cutSessionsOnTime({
        sessions,
        queue,
        now,
        // A pending midnight timer does not keep the process from exiting.
        setTimer: (run, ms) => deps.timers.after(ms, run),
        onTrouble: (cause) =>
          log.error("session", "Cut-over failed", "session.cut_over_failed", { error: String(cause) }),
      }),
  };
}

/** The shipped rules and those of the configuration; one that is refused is logged. */
function readRules({ config, log, words, elapsed }: ChatMemoryDeps) {
  const { rules: configured, problems } = compileRules(config.routing.rules, "config", elapsed);
  for (const problem of problems)
    log.warn("routing", "Rule refused", "routing.rule_refused", { problem: words.ruleProblem(problem) });
  return { configured, problems, shipped: SHIPPED_RULES.map((rule) => compileTrustedRule(rule, "shipped")) };
}

/** How long a chat that is spoken in is waited for, to be forgotten. */
const FORGET_MS = 5_000;

/** The chats of the terminal. A chat is not forgotten while it answers a message. */
export function createTerminalChats(
  chats: { list(): Promise<readonly NamedChat[]>; forget(name: string): Promise<boolean> },
  queue: ChatQueue,
): NamedChats {
  return {
    list: chats.list,
    async forget(name) {
      const signal = AbortSignal.timeout(FORGET_MS);
      const done = await queue.run(chatKeyOf("cli", name), () => chats.forget(name), { signal });
      if (!done.ran) return "busy";
      return done.value ? "forgotten" : "unknown";
    },
  };
}
