import { hostname } from "node:os";
import { allowedUsers, openChannels } from "../adapters/channels/registry.ts";
import { createWebChannel } from "../adapters/web/host.ts";
import type { Control } from "../application/fleet/control.ts";
import { enterFleet } from "../application/fleet/machine-presence.ts";
import { createViewerJobs, type OwnJobs } from "../application/fleet/viewer-jobs.ts";
import { createWorkingProcess } from "../application/fleet/working-process.ts";
import { storedJobActions } from "../application/jobs/follow-up-actions.ts";
import type { ProcessKind } from "../application/ports/fleet.ts";
import type { Channel } from "../application/ports/serve.ts";
import { createMessageAnswerer } from "../application/serve/answer-messages.ts";
import { createServeTroubles } from "../application/serve/health.ts";
import { chooseMessageLane, createReceiver, openAdmission } from "../application/serve/receive-messages.ts";
import { createReplySender } from "../application/serve/send-replies.ts";
import { createBus, createLiveWorks, logMessages } from "../application/serve/serve-events.ts";
import type { JoinedFleet, JoinOptions } from "../application/serve/server.ts";
import { createWorkKeeper } from "../application/serve/take-work.ts";
import { settleEarlier } from "../application/serve/timed-rounds.ts";
import { machineLabels } from "../config/settings.ts";
import { formatDayIn, resolveTimeZone } from "../domain/chat/session.ts";
import { chatMessagesFor } from "../domain/texts/chat.ts";
import { openFleet } from "../infrastructure/fleet/fleet-store.ts";
import { createLineLogger } from "../infrastructure/platform/line-logger.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { createMessageStore } from "../infrastructure/serve/message-store.ts";
import { traceparentOf } from "../infrastructure/serve/message-views.ts";
import { workspaceQueues } from "../infrastructure/serve/work-places.ts";
import { openWorkQueue } from "../infrastructure/serve/work-queue.ts";
import { newerSchema } from "../infrastructure/store/migrate.ts";
import { isStoreAway } from "../infrastructure/store/open-store.ts";
import { VERSION } from "../version.ts";
import { type ListenDeps, randomBytes, type ServeDeps } from "./serve-state.ts";

const { now } = timers;
const uuid = () => crypto.randomUUID();

/** Receiving, answering and sending, with every channel there is. Nothing runs before it is started. */
export async function openInbox(parts: ServeDeps) {
  const { state, store, queue, services, words, telemetry, db, onTrouble } = parts;
  const { current } = state;
  const bus = createBus();
  const mask = (text: string) => current().workspace.mask(text);
  logMessages(bus, createLineLogger({ ...services.config.log, home: services.home, mask }));
  telemetry?.tracer.watch(bus, {
    archive: () => current().workspace.archive,
    traceparentOf: (id) => traceparentOf(db, id),
  });
  const live = createLiveWorks(bus);
  const keeper = createWorkKeeper({ queue, timers, onTrouble, guard: parts.guard });
  const channels = new Map<string, Channel>([["web", createWebChannel()]]);
  const common = { store, bus, keeper, timers, channel: (name: string) => channels.get(name) };
  const labels = () => chatMessagesFor(current().locale).actions;
  const sending = createReplySender({
    ...common,
    present: async (reply) => ({ ...reply, actions: await (control ?? own).actions(reply, labels()) }),
    away: () => control?.awayReplies() ?? [],
    chance: Math.random,
    onTrouble,
  });
  const answering = createMessageAnswerer({
    ...common,
    conversation: () => current().conversation,
    images: () => current().images,
    settleEarlier: (id, noted) => settleEarlier(current().workspace, id, noted),
    actionsFor: (jobIds) => storedJobActions(current().workspace.archive, jobIds, labels()),
    uuid,
    messages: words,
    locale: () => current().locale,
    dayOf: (at) => formatDayIn(resolveTimeZone(current().config.session.timezone), at),
    limit: parts.lanes,
    isBusy: () => receiver.isBusy(),
    onTrouble: (error, message) => onTrouble(error, message?.id),
  });
  const own: OwnJobs = createViewerJobs({
    workspace: () => current().workspace,
    processes: () => current().processes(),
    store,
    cancelMessage: (id) => answering.cancel(id),
    bus,
    pid: process.pid,
    now,
  });
  const reaches = (channel: string) => channels.has(channel);
  const control: Control | null =
    services.databaseUrl === undefined
      ? null
      : (await import("./control.ts")).openControl(parts, { own, bus, keeper, reaches, send: sending.look });
  parts.far.jobs = control?.farJobs ?? null;
  const receiver = createReceiver({
    store,
    images: () => current().images,
    admit: openAdmission({
      access: parts.access,
      isAllowed: (channel, userId) => allowedUsers(current().config, channel).includes(userId),
      since: parts.startedAt,
      messages: words,
      perMinute: () => current().config.serve.rate_limit,
      random: randomBytes,
      now,
    }),
    workspace: parts.workspaceName,
    bus,
    wayOf: (message) => chooseMessageLane(current().conversation, message),
    tracing: telemetry?.tracing ?? null,
    now,
    random: randomBytes,
  });
  const { receive } = receiver;
  const reached = await openChannels({
    config: () => current().config,
    secrets: services.secrets,
    locale: () => current().locale,
    receive,
    timers,
    sendWaiting: sending.sendWaiting,
    publicUrl: parts.publicUrl,
    openPushCounter: async () =>
      (await import("../infrastructure/serve/push-counter.ts")).createPushCounter(db, now),
    onTrouble,
  });
  for (const channel of reached.channels) channels.set(channel.name, channel);
  const viewerJobs = control?.viewerJobs ?? own;
  const { start: hear, webhooks } = reached;
  return {
    bus,
    live,
    channels,
    sending,
    answering,
    control,
    viewerJobs,
    receive,
    receiver,
    webhooks,
    hear,
    keeper,
  };
}

export type Inbox = Awaited<ReturnType<typeof openInbox>>;

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
  const onTrouble = createServeTroubles({ log, now, mask, isStoreAway });
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
  const parts: ServeDeps = { ...given, ...role, queue, newWorkId, store, fleet, startedAt: now(), onTrouble };
  const inbox = await openInbox(parts);
  const listens = kind === "serve";
  const tasks = { queue: opened, keeper: inbox.keeper, labels, limit: listens ? TASKS_AT_ONCE : lanes };
  const forges = services.config.command_executor.enabled
    ? await (await import("./serve-forges.ts")).openServedForges(parts, { ...tasks, takesIn: listens })
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
  return { ...working, parts, inbox, forges };
}

/** The work of `serve` without its listener, its channels' ears and its schedules. */
export async function joinFleet(given: ListenDeps, options: JoinOptions): Promise<JoinedFleet> {
  const { labels: own, concurrency: lanes, log } = options;
  const labels = [...new Set([...machineLabels(given.services.config, process.arch), ...own])];
  const working = await openWorking(given, { kind: "join", labels, lanes, publicUrl: null, log });
  await working.start().catch(async (error: unknown) => {
    await working.giveUp();
    throw error;
  });
  return { machineName: hostname(), labels, reload: given.state.reload, stop: () => working.stop() };
}
