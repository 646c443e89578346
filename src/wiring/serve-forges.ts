import { randomUUID } from "node:crypto";
import { createWebhooks, forgeWebhook } from "../adapters/forges/webhooks.ts";
import type { EnvironmentCounts } from "../application/containers/observe-environments.ts";
import type { Forge } from "../application/ports/forges.ts";
import type { Webhook } from "../application/ports/platform.ts";
import type { WorkKeeper } from "../application/serve/take-work.ts";
import {
  createForgeService,
  type ForgeService,
  type ForgeServiceDeps,
} from "../application/tasks/forge-service.ts";
import { createNotifyTaskEnd } from "../application/tasks/run-due-tasks.ts";
import { byForge, FORGE_KINDS, type ForgeKind } from "../domain/config/forge-kinds.ts";
import { forgeSite } from "../domain/forges/forge-items.ts";
import { toErrorText } from "../domain/platform/error-text.ts";
import { chatMessagesFor } from "../domain/texts/chat.ts";
import { solveMessagesFor } from "../domain/texts/tasks.ts";
import { readMachineId } from "../infrastructure/fleet/workspace-name.ts";
import { DELIVERY_FORMATS } from "../infrastructure/forges/forge-registry.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import type { OpenedQueue } from "../infrastructure/serve/work-queue.ts";
import { TASK_KIND } from "../infrastructure/tasks/solve-store.ts";
import { openForge } from "./project-forge.ts";
import type { ServeDeps } from "./serve-state.ts";
import { openSolver } from "./solve.ts";

export interface ServedForges extends ForgeService {
  /** For `/webhooks/<forge>`. */
  readonly webhooks: ReadonlyMap<string, Webhook>;
  /** The activity of its containers, for metrics. */
  readonly counts: () => EnvironmentCounts;
}

export interface ServedForgeOptions extends Pick<ForgeServiceDeps, "limit" | "labels" | "takesIn"> {
  readonly queue: OpenedQueue;
  readonly keeper: WorkKeeper;
}

/** Tasks from forges while serving: webhooks, polling, and whoever carries them out. Null where no forge has a token, or it cannot be. */
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
  const forges = new Map<ForgeKind, Forge>();
  for (const kind of FORGE_KINDS) {
    const forge = await openForge(kind, { config, secrets });
    if (typeof forge !== "string") forges.set(kind, forge);
  }
  if (forges.size === 0) {
    await solver.close();
    return null;
  }
  const service = createForgeService({
    ...solver,
    ...given,
    forges,
    solveDeps: solver.parts,
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
    onWork: (wake) => queue.queue.onWork(wake, { kind: TASK_KIND }),
    timers,
    clock: () => performance.now(),
    uuid: randomUUID,
    onTrouble: (error) => say(solver.workspace.mask(toErrorText(error))),
  });
  const answer = createWebhooks({
    forges: byForge((kind) => {
      const secret = secrets.resolve(config.forges[kind].webhook_secret);
      if (secret === undefined || !forges.has(kind)) return null;
      return { secret, site: forgeSite(kind, config.forges[kind].base_url) };
    }),
    formats: DELIVERY_FORMATS,
    intake: service.takeIn,
  });
  return {
    ...service,
    counts: solver.counts,
    webhooks: new Map(FORGE_KINDS.map((kind) => [kind, forgeWebhook(kind, DELIVERY_FORMATS[kind], answer)])),
    async stop() {
      await service.stop();
      await solver.close();
    },
  };
}
