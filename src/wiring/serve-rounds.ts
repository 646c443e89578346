import { scheduleCleanUp } from "../application/containers/clean-up-rounds.ts";
import { cleanUpStaleContainers } from "../application/containers/environments-now.ts";
import { startPruning } from "../application/serve/prune-rounds.ts";
import { configuredSchedules } from "../application/serve/timed-rounds.ts";
import type { KeptKind } from "../application/ports/retention.ts";
import type { Config } from "../config/config.ts";
import { startSchedules } from "../infrastructure/serve/inbox-schedules.ts";
import { watchModels } from "../infrastructure/models/watch-models.ts";
import { timers } from "../infrastructure/platform/runtime-timers.ts";
import { createRetentionStore } from "../infrastructure/serve/retention-store.ts";
import { createScheduleStore } from "../infrastructure/serve/schedules.ts";
import type { Inbox } from "./serve-inbox.ts";
import type { ServeDeps } from "./serve-parts.ts";
import { modelsNow } from "./serve-web.ts";

/** `serve.keep_days` is the older name of one of them. */
function daysKept({ retention, serve }: Config, kind: KeptKind): number {
  return kind === "messages" ? (retention.messages ?? serve.keep_days) : retention[kind];
}

export interface Schedules {
  /** The configuration has changed. */
  renew(): Promise<void>;
  stop(): void;
}

/** What `serve` does by the clock: schedules, looking after models, pruning, cleaning up containers. */
export async function startServeSchedules(
  parts: ServeDeps,
  { receiver, channels }: Inbox,
): Promise<Schedules> {
  const { env, options, db, state, store, access, words, log, onTrouble } = parts;
  const configured = () => configuredSchedules(state.current().config);
  for (const { name, chat } of configured()) {
    const [channel = ""] = chat.split(":");
    if (!channels.has(channel)) log(words().scheduleUnknownChannel(name, channel));
  }
  const watch = () => {
    const { config, locale } = state.current();
    return watchModels(modelsNow(parts), {
      intervalMs: config.ollama.health_check_interval * 1000,
      timeoutMs: config.models.connect_timeout * 1000,
      locale,
      after: timers.after,
      say: log,
    });
  };
  const scheduled = createScheduleStore({
    db,
    workspace: parts.workspaceName,
    now: timers.now,
    messages: store,
  });
  const { prepare: newMessage, announce: onFired } = receiver;
  const schedule = () =>
    startSchedules(configured(), { store: scheduled, newMessage, onFired, timers, onTrouble });
  const renewed = { schedules: await schedule(), models: watch() };
  const stopPruning = startPruning({
    store: createRetentionStore(db, timers.now),
    access,
    days: (kind) => daysKept(state.current().config, kind),
    timers,
    onTrouble,
  });
  const stopCleanUp = scheduleCleanUp({
    config: () => state.current().config.command_executor,
    cleanUp: () =>
      cleanUpStaleContainers(async () => (await import("./environments.ts")).openEnvironments(env, options)),
    onTrouble,
  });
  return {
    async renew() {
      renewed.schedules();
      renewed.schedules = await schedule();
      renewed.models();
      renewed.models = watch();
    },
    stop() {
      stopPruning();
      renewed.models();
      stopCleanUp();
      renewed.schedules();
    },
  };
}
