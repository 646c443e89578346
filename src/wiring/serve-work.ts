import { hostname } from "node:os";
import { allowedUsers, openChannels } from "../adapters/channels/registry.ts";
import { createWebChannel } from "../adapters/web/host.ts";
import { enterFleet } from "../application/fleet/machine-presence.ts";
import { createWorkingProcess } from "../application/fleet/working-process.ts";
import type { ProcessKind } from "../application/ports/fleet.ts";
import type { Channel } from "../application/ports/serve.ts";
import { createServeTroubles, createTroubleReporter } from "../application/serve/health.ts";
import { createBus, logMessages } from "../application/serve/serve-events.ts";
import { type JoinedFleet, type JoinOptions, joinWorking } from "../application/serve/server.ts";
import { machineLabels } from "../config/settings.ts";
import { toErrorText } from "../domain/platform/error-text.ts";
import { openFleet } from "../infrastructure/fleet/fleet-store.ts";
import { createLineLogger } from "../infrastructure/platform/line-logger.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { createMessageStore } from "../infrastructure/serve/message-store.ts";
import { traceparentOf } from "../infrastructure/serve/message-views.ts";
import { workspaceQueues } from "../infrastructure/serve/work-places.ts";
import { openWorkQueue } from "../infrastructure/serve/work-queue.ts";
import { newerSchema } from "../infrastructure/store/schema.ts";
import { VERSION } from "../version.ts";
import { openInbox } from "./serve-inbox.ts";
import type { ListenDeps, ServeDeps } from "./serve-state.ts";

const { now } = timers;
const uuid = () => crypto.randomUUID();

/** The inbox of this process, with every channel there is. */
export async function openChannelInbox(deps: ServeDeps) {
  const { state, services, telemetry, db, onTrouble } = deps;
  const { current } = state;
  const { home, secrets } = services;
  const bus = createBus();
  const mask = (text: string) => current().workspace.mask(text);
  const logger = createLineLogger({ ...services.config.log, home, mask });
  logMessages(bus, logger);
  const noteTrouble = createTroubleReporter(
    (error) => logger.warn("channels", "channel.trouble", "channel.trouble", { error }),
    now,
  );
  telemetry?.tracer.watch(bus, {
    archive: () => current().workspace.archive,
    traceparentOf: (id) => traceparentOf(db, id),
  });
  const isAllowed = (channel: string, userId: string) =>
    allowedUsers(current().config, channel).includes(userId);
  const channels = new Map<string, Channel>([["web", createWebChannel()]]);
  const inbox = await openInbox(deps, { bus, channels, isAllowed });
  deps.far.jobs = inbox.control?.farJobs ?? null;
  const reached = await openChannels({
    config: () => current().config,
    secrets,
    locale: () => current().locale,
    receive: inbox.receiver.receive,
    timers,
    sendWaiting: inbox.sending.sendWaiting,
    publicUrl: deps.publicUrl,
    openPushCounter: async () =>
      (await import("../infrastructure/serve/push-counter.ts")).createPushCounter(db, now),
    onTrouble: (error, place) => {
      noteTrouble(place, toErrorText(error));
      onTrouble(error, place);
    },
  });
  for (const channel of reached.channels) channels.set(channel.name, channel);
  return { ...inbox, isAllowed, webhooks: reached.webhooks, hear: reached.start };
}

export type ChannelInbox = Awaited<ReturnType<typeof openChannelInbox>>;

export interface WorkerRole {
  readonly kind: ProcessKind;
  readonly labels: readonly string[];
  /** Messages at once. */
  readonly lanes: number;
  readonly publicUrl: string | null;
  readonly log: (text: string) => void;
}

/** Beside the messages that a server answers. */
const TASKS_AT_ONCE = 2;

/**
 * The parts that `serve` and `join` share: a place in the fleet, messages to answer, replies to send, tasks
 * to carry out.
 */
export async function openWorking(given: ListenDeps, role: WorkerRole) {
  const { services, state, db, workspaceName, owner, owners } = given;
  const { databaseUrl, home } = services;
  const { kind, labels, lanes, log } = role;
  const mask = (text: string) => state.current().workspace.mask(text);
  const onTrouble = createServeTroubles({ log, now, mask, logger: services.log });
  const uncaught = { count: 0 };
  const noteFault = (error: unknown) => {
    uncaught.count += 1;
    onTrouble(error, "uncaught");
  };
  const { isGone } = owners;
  const opened = await openWorkQueue({ db, databaseUrl, owner, isGone, timers, onTrouble });
  const { queue, newWorkId } = opened;
  const { root } = state.current().workspace;
  const here = { ...owners, owner, root, kind, labels, lanes, version: VERSION };
  const fleet = openFleet({ db, home, workspaceName, now, ...here });
  const taken = await enterFleet(fleet, timers);
  if (taken !== null) {
    await queue.close().catch(onTrouble);
    const text = given.words().machineTaken(taken.takenBy, home);
    throw Object.assign(new Error(text), { code: "machine" });
  }
  const store = await createMessageStore({ db, now, workspace: workspaceName, ...opened });
  const deps: ServeDeps = {
    ...given,
    ...role,
    queue,
    newWorkId,
    store,
    fleet,
    startedAt: now(),
    onTrouble,
    uncaught,
  };
  const inbox = await openChannelInbox(deps);
  const listens = kind === "serve";
  const tasks = { queue: opened, keeper: inbox.keeper, labels, limit: listens ? TASKS_AT_ONCE : lanes };
  const forges = services.config.command_executor.enabled
    ? await (await import("./serve-forges.ts")).openServedForges(deps, { ...tasks, takesIn: listens })
    : null;
  const working = createWorkingProcess({
    inbox,
    tasks: forges,
    workspace: () => state.current().workspace,
    queue,
    queues: workspaceQueues(workspaceName),
    listens,
    machine: {
      fleet,
      store,
      newerSchema: () => newerSchema(db),
      words: given.words,
      uuid,
      log,
      end: () => process.kill(process.pid, "SIGTERM"),
    },
    timers,
    onTrouble,
  });
  return { ...working, noteFault, deps, inbox, forges };
}

/** The work of `serve` without its listener, its channels' ears and its schedules. */
export async function joinFleet(given: ListenDeps, options: JoinOptions): Promise<JoinedFleet> {
  const { labels: own, concurrency: lanes, log } = options;
  const labels = [...new Set([...machineLabels(given.services.config, process.arch), ...own])];
  const working = await openWorking(given, { kind: "join", labels, lanes, publicUrl: null, log });
  return joinWorking(working, { machineName: hostname(), labels, reload: given.state.reload });
}
