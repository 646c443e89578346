import { randomUUID } from "node:crypto";
import type { Kysely } from "kysely";
import { createWebhooks, forgeWebhook } from "../adapters/forges/webhooks.ts";
import type { EnvironmentCounts } from "../application/containers/observe-environments.ts";
import type { FleetStore } from "../application/ports/fleet.ts";
import type { Forge } from "../application/ports/forges.ts";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { Webhook } from "../application/ports/platform.ts";
import type { WorkKeeper } from "../application/serve/take-work.ts";
import { type IntakeDeps, pollRepository, takeInEvent } from "../application/tasks/intake.ts";
import { createTaskGate, createTaskRunner, type NotifyTaskEnd } from "../application/tasks/run-due-tasks.ts";
import { solveClaimed } from "../application/tasks/solve-task.ts";
import { traceTask } from "../application/tasks/trace-task.ts";
import { byForge, FORGE_KINDS, type ForgeKind } from "../domain/forges/forge-items.ts";
import { toErrorText } from "../domain/platform/error-text.ts";
import { timers as systemTimers } from "../infrastructure/platform/timers.ts";
import type { OpenedQueue } from "../infrastructure/serve/work-queue.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { TASK_KIND } from "../infrastructure/tasks/solve-store.ts";
import { openForge, openSolver, siteOf } from "./solve.ts";
import type { Telemetry } from "./telemetry.ts";

export interface ForgeServiceDeps {
  readonly db: Kysely<Database>;
  readonly queue: OpenedQueue;
  readonly keeper: WorkKeeper;
  readonly say: (text: string) => void;
  readonly tellEnd: NotifyTaskEnd;
  /** Tasks that are worked on at once. */
  readonly limit: number;
  /** The labels of this machine: it carries out work that needs no more. */
  readonly labels: readonly string[];
  /** The other machines, to whom tasks are left while this one's engine is away. */
  readonly fleet: Pick<FleetStore, "machines">;
  readonly machineId: string;
  /** Whether it also asks the forges for new ones. */
  readonly takesIn: boolean;
  readonly telemetry: Telemetry | null;
}

export interface ForgeService {
  /** For `/webhooks/github` and `/webhooks/gitlab`. */
  readonly webhooks: ReadonlyMap<string, Webhook>;
  /** The activity of its containers, for metrics. */
  readonly counts: () => EnvironmentCounts;
  /** Labels that do not hold now. */
  readonly lacking: () => readonly string[];
  start(): Promise<void>;
  /** Ends what runs; it goes on at the next start. */
  stop(): Promise<void>;
}

/** Covers messages from a time when no process served. Those already taken in are known by their names. */
const FIRST_LOOK_BACK_MS = 24 * 3600 * 1000;
/** An engine that takes longer to say who it is counts as away. */
const ENGINE_MS = 5_000;
/** A forge's lists lag behind, and its clock is another one. */
const OVERLAP_MS = 5 * 60_000;

/**
 * Tasks from GitHub and GitLab while serving: webhooks, polling, and whoever carries them out. Null where environments
 * are off or no forge has a token; a text says why it cannot be.
 */
export async function openForgeService(
  env: Readonly<Record<string, string | undefined>>,
  options: OpenOptions,
  given: ForgeServiceDeps,
): Promise<ForgeService | string | null> {
  const { db, queue, keeper, say, tellEnd, limit, labels, takesIn, telemetry } = given;
  const opened = await openSolver(env, options, {
    db,
    queue,
    keeper,
    onModelCall: telemetry?.tracer.asked,
  });
  if (!opened.ok) return opened.message ?? "";
  const { solver } = opened;
  const { config, secrets, store, log } = solver;
  const forges = new Map<ForgeKind, Forge>();
  for (const kind of FORGE_KINDS) {
    const forge = config.command_executor.enabled ? await openForge(kind, { config, secrets }) : "";
    if (typeof forge !== "string") forges.set(kind, forge);
  }
  if (forges.size === 0) {
    await solver.close();
    return null;
  }
  const now = () => new Date();
  const gate = createTaskGate({
    ...given,
    needs: config.tasks.needs,
    engineTrouble: () => solver.engineTrouble(AbortSignal.timeout(ENGINE_MS)),
    clock: () => performance.now(),
  });
  const runner = createTaskRunner({
    store: { claim: async (has) => ((await gate.mayTake()) ? store.claim(has) : null) },
    limit,
    has: [...labels, ...[...forges.keys()].map((kind) => `forge:${kind}`)],
    timers: systemTimers,
    run: async (claimed, signal) => {
      const { task } = claimed;
      const parts = await solver.parts(forges.get(task.item.forge) as Forge, task.id);
      const solve = () => solveClaimed(parts, claimed, { signal, say: () => {} });
      const ended =
        telemetry === null
          ? await solve()
          : await traceTask({ ...telemetry, steps: store.steps, now }, task, solve);
      await tellEnd(ended, parts.budgetNotices?.() ?? []);
    },
    onTrouble: (error) => say(solver.workspace.mask(toErrorText(error))),
  });
  const partsOf = (forge: Forge): IntakeDeps => ({
    forge,
    store,
    label: config.tasks.label,
    needs: config.tasks.needs,
    log,
    now,
    uuid: randomUUID,
    onDue: () => runner.wake(),
  });
  const settings = (kind: ForgeKind) => {
    const secret = secrets.resolve(config.forges[kind].webhook_secret);
    if (secret === undefined || !forges.has(kind)) return null;
    return { secret, site: siteOf(kind, config.forges[kind].base_url) };
  };
  const answer = createWebhooks({
    forges: byForge(settings),
    intake: (event) => takeInEvent(partsOf(forges.get(event.item.forge) as Forge), event),
  });
  const timers: ReturnType<typeof setInterval>[] = [];
  const stopListening: (() => void)[] = [];
  const stopping = new AbortController();
  return {
    counts: solver.counts,
    lacking: gate.lacking,
    webhooks: new Map(FORGE_KINDS.map((kind) => [kind, forgeWebhook(kind, answer)])),
    async start() {
      await store.adopt();
      stopListening.push(queue.queue.onWork(runner.wake, { kind: TASK_KIND }));
      runner.wake();
      for (const [kind, forge] of takesIn ? forges : []) {
        const { repositories, poll_interval: seconds } = config.forges[kind];
        if (seconds === 0 || repositories.length === 0) continue;
        const looked = { at: now().getTime() - FIRST_LOOK_BACK_MS };
        const look = async () => {
          const since = new Date(looked.at - OVERLAP_MS);
          const at = now().getTime();
          const taken = [];
          for (const repository of repositories)
            taken.push(
              ...(await pollRepository(partsOf(forge), { repository, since, signal: stopping.signal })),
            );
          // Events that a forge did not report now are asked for again.
          if (taken.every(({ did }) => did !== "failed")) looked.at = at;
        };
        const poll = () =>
          void look().catch((error: unknown) => say(solver.workspace.mask(toErrorText(error))));
        poll();
        timers.push(setInterval(poll, seconds * 1000));
      }
    },
    async stop() {
      stopping.abort();
      for (const timer of timers) clearInterval(timer);
      for (const stop of stopListening) stop();
      await runner.stop();
      await solver.close();
    },
  };
}
