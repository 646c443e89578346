import { randomUUID } from "node:crypto";
import { openForgeWebhooks } from "../adapters/forges/webhooks.ts";
import type { EnvironmentCounts } from "../application/containers/observe-environments.ts";
import type { Webhook } from "../application/ports/platform.ts";
import type { WorkKeeper } from "../application/serve/take-work.ts";
import {
  createForgeService,
  createNotifyTaskEnd,
  type ForgeService,
  type ForgeServiceDeps,
} from "../application/tasks/forge-service.ts";
import { toErrorText } from "../domain/platform/error-text.ts";
import { chatMessagesFor } from "../domain/texts/chat.ts";
import { solveMessagesFor } from "../domain/texts/tasks.ts";
import { readMachineId } from "../infrastructure/fleet/workspace-name.ts";
import { DELIVERY_FORMATS, openForges } from "../infrastructure/forges/forge-registry.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import type { OpenedQueue } from "../infrastructure/serve/work-queue.ts";
import { createForgeEvents, EVENT_KIND, TASK_KIND } from "../infrastructure/tasks/solve-store.ts";
import { configuredForges } from "./project-forge.ts";
import type { ServeDeps } from "./serve-state.ts";
import { openSolver } from "./solve.ts";

export interface ServedForges extends ForgeService {
  /** For `/webhooks/<forge>`. */
  readonly webhooks: ReadonlyMap<string, Webhook>;
  readonly counts: () => EnvironmentCounts;
}

export interface ServedForgeOptions extends Pick<ForgeServiceDeps, "limit" | "labels" | "acceptsNew"> {
  readonly queue: OpenedQueue;
  readonly keeper: WorkKeeper;
}

/** Tasks from forges while serving: webhooks, polling, and their execution. Null if no forge has a token, or tasks cannot run here. */
export async function openServedForges(
  { services, db, store: messages, state, fleet, log: say, telemetry }: ServeDeps,
  { queue, keeper, ...given }: ServedForgeOptions,
): Promise<ServedForges | null> {
  const onModelCall = telemetry?.tracer.asked;
  const opened = await openSolver(services.env, services.options, { db, queue, keeper, onModelCall });
  if (!opened.ok) {
    say(opened.message ?? "");
    return null;
  }
  const { solver } = opened;
  const { config, secrets } = solver;
  const forges = await openForges(configuredForges(solver));
  if (forges.size === 0) {
    await solver.close();
    return null;
  }
  const service = createForgeService({
    ...solver,
    ...given,
    forges,
    solveDeps: solver.deps,
    fleet,
    machineId: readMachineId(services.home),
    telemetry,
    tellEnd: createNotifyTaskEnd({
      chat: () => state.current().config.notify.chat,
      post: (reply) => messages.post(reply),
      solveWords: () => solveMessagesFor(state.current().locale),
      chatWords: () => chatMessagesFor(state.current().locale),
      uuid: randomUUID,
      now: timers.now,
    }),
    events: createForgeEvents({ db, ...queue }),
    keeper,
    onEvents: (wake) => queue.queue.onWork(wake, { kind: EVENT_KIND }),
    onWork: (wake) => queue.queue.onWork(wake, { kind: TASK_KIND }),
    timers,
    clock: () => performance.now(),
    uuid: randomUUID,
    onTrouble: (error) => say(solver.workspace.mask(toErrorText(error))),
  });
  return {
    ...service,
    counts: solver.counts,
    webhooks: openForgeWebhooks({
      config,
      secrets,
      forges,
      formats: DELIVERY_FORMATS,
      intake: service.takeIn,
    }),
    async stop() {
      await service.stop();
      await solver.close();
    },
  };
}
