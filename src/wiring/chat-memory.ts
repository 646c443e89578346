import type { Kysely } from "kysely";
import { type ChatQueue, createChatQueue } from "../application/chat/chat-queue.ts";
import { memoryCommands } from "../application/chat/memory/commands.ts";
import { createRouteTeacher } from "../application/chat/memory/teach-route.ts";
import { createMeter, type Meter } from "../application/chat/meter.ts";
import type { ChatParts } from "../application/chat/parts.ts";
import { createRouter, type Router } from "../application/chat/route-message.ts";
import { createSessions, type Sessions } from "../application/chat/sessions.ts";
import { createSummarise } from "../application/chat/summarise.ts";
import type { Logger } from "../application/ports/logger.ts";
import type { Model, Models, ModelUsage } from "../application/ports/model.ts";
import type { UsageStore } from "../application/ports/usage.ts";
import type { Config } from "../config/config.ts";
import { memoryMessagesFor } from "../domain/messages/memory/catalogue.ts";
import type { Locale } from "../domain/messages/messages.ts";
import { compileRules, trusted } from "../domain/routing/rule-dictionary.ts";
import { SHIPPED_RULES } from "../domain/routing/shipped-rules.ts";
import { createDayClock } from "../domain/session/day-clock.ts";
import { createOwnerNames } from "../infrastructure/process/owner-name.ts";
import { createChatLeases } from "../infrastructure/store/chat-leases.ts";
import { createRoutingStore } from "../infrastructure/store/routing-store.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { createSessionStore } from "../infrastructure/store/session-store.ts";
import { createUsageStore } from "../infrastructure/store/usage-store.ts";
import { openMigratedStore } from "./store.ts";

/** What a conversation remembers and how it decides: everything of it that lives in the store. */
export interface ChatMemory {
  readonly sessions: Sessions;
  readonly router: Router;
  readonly queue: ChatQueue;
  readonly meter: Meter;
  readonly usage: UsageStore;
  /** `/why`, `/route`, `/new`, `/usage`, … */
  readonly commands: ChatParts["commands"];
  close(): Promise<void>;
}

export interface ChatMemoryOptions {
  readonly home: string;
  readonly config: Pick<Config, "routing" | "session" | "budget">;
  /** `database_url`, its reference resolved. */
  readonly databaseUrl: string | undefined;
  readonly models: Models;
  readonly costOf: (model: Pick<Model, "provider" | "model" | "local">, usage: ModelUsage) => number;
  readonly log: Logger;
  readonly locale: Locale;
  readonly mask: (text: string) => string;
  readonly now: () => Date;
  readonly pid: number;
  /**
   * A store that is open already; it stays open. Two connections of one process to one SQLite file would wait for each
   * other.
   */
  readonly db?: Kysely<Database>;
}

const CLASSIFIER_TIMEOUT_MS = 20_000;
const SUMMARY_TIMEOUT_MS = 30_000;
const LEASE_MS = 10_000;
const POLL_MS = 100;

export type OpenedChatMemory =
  | { readonly ok: true; readonly memory: ChatMemory }
  | { readonly ok: false; readonly message: string };

export async function openChatMemory(options: ChatMemoryOptions): Promise<OpenedChatMemory> {
  if (options.db !== undefined) return { ok: true, memory: createChatMemory(options, options.db) };
  const opened = await openMigratedStore(options, options.now);
  if (opened.ok) return { ok: true, memory: createChatMemory(options, opened.db) };
  return { ok: false, message: memoryMessagesFor(options.locale).storeUnavailable(opened.trouble) };
}

function createChatMemory(options: ChatMemoryOptions, db: Kysely<Database>): ChatMemory {
  const { config, models, log, mask, now } = options;
  const clock = createDayClock(config.session.timezone, config.session.cutover);
  const usage = createUsageStore(db);
  const owners = createOwnerNames(options.pid);
  const configured = compileRules(config.routing.rules, "config", () => performance.now());
  const words = memoryMessagesFor(options.locale);
  for (const problem of configured.problems)
    log.warn("routing", "Rule refused", "routing.rule_refused", { problem: words.ruleProblem(problem) });
  const routing = createRoutingStore(db);
  return {
    sessions: createSessions({
      store: createSessionStore(db, now),
      clock,
      now,
      summarise: createSummarise({ models, log, timeoutMs: SUMMARY_TIMEOUT_MS }),
      log,
      mask,
      historyTokens: config.session.history_tokens,
      summaryTokens: config.session.summary_tokens,
    }),
    router: createRouter({
      store: routing,
      configured: configured.rules,
      shipped: SHIPPED_RULES.map((rule) => trusted(rule, "shipped")),
      threshold: config.routing.threshold,
      classifierTimeoutMs: CLASSIFIER_TIMEOUT_MS,
      log,
      mask,
      now,
    }),
    queue: createChatQueue({
      leases: createChatLeases(db),
      now,
      newOwner: owners.next,
      isGone: owners.isGone,
      leaseMs: LEASE_MS,
      pollMs: POLL_MS,
      setTimer(run, ms) {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
    }),
    meter: createMeter({
      models,
      usage,
      costOf: options.costOf,
      budget: config.budget,
      now,
      log,
      startOfDay: clock.startOfDay,
    }),
    usage,
    commands: memoryCommands({
      teacher: createRouteTeacher({ store: routing, configured: configured.rules, now }),
      usage,
      words,
      daily: config.budget.daily,
      clock,
      ruleProblems: configured.problems,
    }),
    close: async () => {
      if (options.db === undefined) await db.destroy();
    },
  };
}
