import { hostname } from "node:os";
import type { Kysely } from "kysely";
import { allowedUsers, type OpenedChannels, openChannels } from "../adapters/channels/registry.ts";
import { createWebChannel } from "../adapters/web/host.ts";
import { createWaitingNotifier, enterFleet, keepMachine } from "../application/fleet/machine-presence.ts";
import { createViewerJobs, type OwnJobs } from "../application/fleet/viewer-jobs.ts";
import type { FleetStore, ProcessKind } from "../application/ports/fleet.ts";
import type { Channel } from "../application/ports/serve.ts";
import { createPairingCodes } from "../application/serve/access.ts";
import { createMessageAnswerer } from "../application/serve/answer-messages.ts";
import { createTroubleReporter } from "../application/serve/health.ts";
import { chooseMessageLane, createAdmission, createReceiver } from "../application/serve/receive-messages.ts";
import { createReplySender } from "../application/serve/send-replies.ts";
import { createBus, createLiveWorks, logMessages } from "../application/serve/serve-events.ts";
import type { JoinedFleet, JoinOptions } from "../application/serve/server.ts";
import { createWorkKeeper } from "../application/serve/take-work.ts";
import { settleEarlier } from "../application/serve/timed-rounds.ts";
import { createNotifyTaskEnd } from "../application/tasks/run-due-tasks.ts";
import type { Config } from "../config/config.ts";
import { formatDayIn, resolveTimeZone } from "../domain/chat/session.ts";
import { jobActions } from "../domain/jobs/job-status.ts";
import { toErrorText } from "../domain/platform/error-text.ts";
import { chatMessagesFor } from "../domain/texts/chat.ts";
import { solveMessagesFor } from "../domain/texts/tasks.ts";
import { createFleetStore, type ProcessHere } from "../infrastructure/fleet/fleet-store.ts";
import { homeMark, readMachineId } from "../infrastructure/fleet/workspace-name.ts";
import { createLineLogger } from "../infrastructure/platform/line-logger.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { createMessageStore } from "../infrastructure/serve/message-store.ts";
import { traceparentOf } from "../infrastructure/serve/message-views.ts";
import { workspaceQueues } from "../infrastructure/serve/work-places.ts";
import { type OpenedQueue, openWorkQueue } from "../infrastructure/serve/work-queue.ts";
import { newerSchema } from "../infrastructure/store/migrate.ts";
import { isStoreAway } from "../infrastructure/store/open-store.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { VERSION } from "../version.ts";
import type { Control } from "./control.ts";
import type { ListenDeps, ServeDeps } from "./serve-state.ts";

const { now } = timers;
const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));

/** Receiving, answering and sending, with every channel there is. Nothing runs before it is started. */
export async function openInbox(parts: ServeDeps) {
  const { state, store, queue, words, onTrouble } = parts;
  const bus = createBus();
  const { level, file } = parts.config.log;
  const mask = (text: string) => state.current().workspace.mask(text);
  logMessages(bus, createLineLogger({ home: parts.home, file, level, mask }));
  parts.telemetry?.tracer.watch(bus, {
    job: (jobId) => {
      const { archive } = state.current().workspace;
      const job = archive.read(jobId);
      return job === null ? null : { job, lines: archive.events(jobId) };
    },
    traceparentOf: (id) => traceparentOf(parts.db, id),
  });
  const live = createLiveWorks(bus);
  const keeper = createWorkKeeper({ queue, timers, onTrouble, guard: parts.guard });
  const channels = new Map<string, Channel>([["web", createWebChannel()]]);
  const common = { store, bus, keeper, timers, channel: (name: string) => channels.get(name) };
  const labels = () => chatMessagesFor(state.current().locale).actions;
  const sending = createReplySender({
    ...common,
    present: async (reply) => {
      const actions = control === null ? own.actions(reply, labels()) : control.actions(reply, labels());
      return { ...reply, actions: await actions };
    },
    away: () => control?.awayReplies() ?? [],
    chance: Math.random,
    onTrouble,
  });
  const answering = createMessageAnswerer({
    ...common,
    conversation: () => state.current().conversation,
    settleEarlier: (id, noted) => settleEarlier(state.current().workspace, id, noted),
    actionsFor: (jobIds) => {
      const { archive } = state.current().workspace;
      return jobActions(
        jobIds.map((id) => archive.read(id)).filter((job) => job !== null),
        labels(),
      );
    },
    uuid: () => crypto.randomUUID(),
    messages: words,
    dayOf: (at) => formatDayIn(resolveTimeZone(state.current().config.session.timezone), at),
    limit: parts.config.serve.max_chats,
    isBusy: () => receiver.isBusy(),
    onTrouble: (error, message) => onTrouble(error, message?.id),
  });
  const own: OwnJobs = createViewerJobs({
    workspace: () => state.current().workspace,
    store,
    cancelMessage: (id) => answering.cancel(id),
    bus,
    pid: process.pid,
    now,
  });
  const control: Control | null =
    parts.databaseUrl === undefined
      ? null
      : (await import("./control.ts")).openControl(parts, {
          own,
          bus,
          keeper,
          reaches: (channel) => channels.has(channel),
          send: sending.look,
        });
  parts.far.jobs = control?.farJobs ?? null;
  const receiver = createReceiver({
    store,
    admit: admissionOf(parts),
    workspace: parts.workspaceName,
    bus,
    wayOf: (message) => chooseMessageLane(state.current().conversation, message),
    tracing: parts.telemetry?.tracing ?? null,
    now,
    random,
  });
  const reached = await openReached(parts, receiver.receive, sending.sendWaiting);
  for (const channel of reached.channels) channels.set(channel.name, channel);
  return {
    bus,
    live,
    channels,
    sending,
    answering,
    control,
    viewerJobs: control?.viewerJobs ?? own,
    receive: receiver.receive,
    receiver,
    reached,
    keeper,
  };
}

export type Inbox = Awaited<ReturnType<typeof openInbox>>;

function admissionOf({ state, access, words, startedAt }: ServeDeps) {
  const pairing = createPairingCodes({ access, messages: words, random, now });
  return createAdmission({
    access: {
      async person(channel, userId) {
        if (!allowedUsers(state.current().config, channel).includes(userId))
          return access.person(channel, userId);
        return { channel, userId, name: "", role: "user", addedAt: startedAt.toISOString() };
      },
    },
    messages: words,
    onStranger: (message) => pairing.greet(message),
    perMinute: () => state.current().config.serve.rate_limit,
    now,
  });
}

function openReached(
  { db, state, secrets, publicUrl, onTrouble }: ServeDeps,
  receive: Inbox["receive"],
  sendWaiting: Inbox["sending"]["sendWaiting"],
): Promise<OpenedChannels> {
  return openChannels({
    config: () => state.current().config,
    secrets,
    locale: () => state.current().locale,
    receive,
    timers,
    sendWaiting,
    publicUrl,
    openPushCounter: async () =>
      (await import("../infrastructure/serve/push-counter.ts")).createPushCounter(db, now),
    onTrouble,
  });
}

const LEAVE_MS = 2_000;

export interface FleetDeps extends Pick<ProcessHere, "owner" | "root" | "kind" | "labels" | "lanes"> {
  readonly db: Kysely<Database>;
  readonly home: string;
  readonly workspaceName: string;
  /** The boot and the pid namespace of this process. */
  readonly place: string;
}

/** This process in the fleet: one machine where the store is embedded. */
export function openFleet({ db, home, workspaceName, place, ...here }: FleetDeps): FleetStore {
  const { owner, root, kind, labels, lanes } = here;
  const me: ProcessHere = {
    owner,
    root,
    kind,
    labels,
    lanes,
    machineId: readMachineId(home),
    machineName: hostname(),
    place,
    incarnation: `${place} ${homeMark(home)}`,
    workspace: workspaceName,
    version: VERSION,
  };
  return createFleetStore({ db, now: timers.now, me });
}

/** The labels that every task can rely on here. */
export function labelsOf(config: Config): readonly string[] {
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  return config.command_executor.enabled ? ["docker", architecture] : [architecture];
}

/** Says that this machine is here, tells chats of machines that are away, and ends with the process. */
export async function openMachine(
  { db, fleet, store, words, onTrouble, log }: ServeDeps,
  inbox: Inbox,
  lacking: () => readonly string[],
) {
  const state = { draining: false };
  const keeping = keepMachine({
    fleet,
    load: () => ({ busy: inbox.answering.running, draining: state.draining, lacking: lacking() }),
    timers,
    onReplaced: () => {
      log(words().machineReplaced);
      process.kill(process.pid, "SIGTERM");
    },
    newerSchema: () => newerSchema(db),
    onNewerSchema: ({ added, breaking }) => {
      if (breaking.length === 0) return log(words().schemaAdded(added.join(", ")));
      log(words().schemaBroken(breaking.join(", ")));
      process.kill(process.pid, "SIGTERM");
    },
    onTrouble,
  });
  const teller = createWaitingNotifier({
    fleet,
    store,
    reaches: (channel) => inbox.channels.has(channel),
    messages: words,
    uuid: () => crypto.randomUUID(),
    timers,
    onTrouble,
  });
  await keeping.start();
  await teller.tellBack();
  const stopTelling = teller.start();
  return {
    drain() {
      state.draining = true;
      stopTelling();
      void keeping.tell();
    },
    /** A store that does not answer is not waited for: silence says the same, later. */
    leave: () =>
      Promise.race([keeping.stop(), new Promise<void>((resolve) => void timers.after(LEAVE_MS, resolve))]),
  };
}

export interface WorkerRole {
  readonly kind: ProcessKind;
  readonly labels: readonly string[];
  /** Messages at once. */
  readonly lanes: number;
  readonly publicUrl: string | null;
  readonly log: (text: string) => void;
}

/** Together less than the thirty seconds in which a service manager expects us gone. */
const [ANSWER_GRACE_MS, SEND_GRACE_MS] = [20_000, 5_000];
/** Beside the messages that a server answers. */
const TASKS_AT_ONCE = 2;

/**
 * The parts that `serve` and `join` share: a place in the fleet, messages to answer, replies to send, tasks
 * to carry out.
 */
export async function openWorking(given: ListenDeps, place: WorkerRole) {
  const { publicUrl, log } = place;
  const tell = createTroubleReporter(log, timers.now);
  const onTrouble = (error: unknown, where = "serve") => {
    const { mask } = given.state.current().workspace;
    // An outage is one trouble, wherever it is met.
    if (isStoreAway(error))
      tell("store", mask(`cannot be reached: ${(error as Error).message}`), "store away");
    else tell(where, mask(errorText(error)));
  };
  const work = await openWork(given, place, onTrouble);
  const { queue } = work;
  const taken = await enterFleet(work.fleet, timers);
  if (taken !== null) {
    await queue.close().catch(onTrouble);
    const text = given.words().machineTaken(taken.takenBy, given.home);
    throw Object.assign(new Error(text), { code: "machine" });
  }
  const parts: ServeDeps = { ...given, ...work, startedAt: new Date(), publicUrl, log, onTrouble };
  const inbox = await openInbox(parts);
  const forges = await openForges(parts, inbox, work.opened, place);
  const started: { machine?: Awaited<ReturnType<typeof openMachine>> } = {};
  return {
    parts,
    inbox,
    forges,
    async start() {
      started.machine = await openMachine(parts, inbox, () => forges?.lacking() ?? []);
      await startInbox(parts, inbox, place);
      await forges?.start();
    },
    /** Its start failed. */
    async giveUp() {
      inbox.keeper.stop();
      await forges?.stop();
      await Promise.all([...inbox.channels.values()].map((channel) => channel.close()));
      await queue.close().catch(onTrouble);
      await started.machine?.leave();
    },
    /** Takes nothing new, finishes what runs or hands it back; `close` before the last connections go. */
    async stop(close: () => Promise<void> = async () => {}) {
      started.machine?.drain();
      const tasksEnd = forges?.stop();
      // A store that does not answer is not waited for longer than anything else.
      const giveUp = timers.after(ANSWER_GRACE_MS + SEND_GRACE_MS, () => inbox.keeper.stop());
      await inbox.answering.stop(ANSWER_GRACE_MS);
      await inbox.sending.stop(SEND_GRACE_MS);
      await inbox.control?.stop();
      await tasksEnd;
      giveUp();
      inbox.keeper.stop();
      await Promise.all([...inbox.channels.values()].map((channel) => channel.close()));
      await close();
      await queue.close().catch(onTrouble);
      await started.machine?.leave();
    },
  };
}

/** The queue of this process, and the inbox and outbox over it. */
async function openWork(
  parts: ListenDeps,
  { kind, labels, lanes }: WorkerRole,
  onTrouble: (error: unknown) => void,
) {
  const { db, databaseUrl, state, workspaceName: workspace, owners, owner } = parts;
  const { isGone } = owners;
  const opened = await openWorkQueue({ db, databaseUrl, owner, isGone, timers, onTrouble });
  const fleet = openFleet({
    ...parts,
    ...owners,
    owner,
    root: state.current().workspace.root,
    kind,
    labels,
    lanes,
  });
  const store = await createMessageStore({ db, now: timers.now, workspace, ...opened });
  return { opened, queue: opened.queue, newWorkId: opened.newWorkId, store, fleet };
}

/** First what an earlier process left half done, then what waits. */
async function startInbox(
  { state, queue, workspaceName }: ServeDeps,
  inbox: Inbox,
  { kind }: WorkerRole,
): Promise<void> {
  const { workspace } = state.current();
  await workspace.repair();
  await workspace.closeDeadJobs();
  await inbox.keeper.start();
  const places = workspaceQueues(workspaceName);
  for (const [{ look }, place] of [
    [inbox.answering, places.messages],
    [inbox.sending, places.replies],
  ] as const) {
    queue.onWork(look, { queue: place });
    look();
  }
  await inbox.control?.start();
  // Only one that listens hears services; any may answer them.
  if (kind === "serve") await inbox.reached.start();
}

/** Null where environments are off or no forge has a token. */
async function openForges(
  parts: ServeDeps,
  { keeper }: Inbox,
  queue: OpenedQueue,
  { kind, labels, lanes }: WorkerRole,
) {
  const { env, options, config, db, log, state, store, telemetry } = parts;
  if (!config.command_executor.enabled) return null;
  const tellEnd = createNotifyTaskEnd({
    chat: () => state.current().config.notify.chat,
    post: (reply) => store.post(reply),
    solveWords: () => solveMessagesFor(state.current().locale),
    chatWords: () => chatMessagesFor(state.current().locale),
    uuid: () => crypto.randomUUID(),
    now: timers.now,
  });
  const { openForgeService } = await import("./serve-forges.ts");
  const opened = await openForgeService(env, options, {
    db,
    queue,
    keeper,
    say: log,
    tellEnd,
    labels,
    fleet: parts.fleet,
    machineId: readMachineId(parts.home),
    limit: kind === "serve" ? TASKS_AT_ONCE : lanes,
    takesIn: kind === "serve",
    telemetry,
  });
  if (typeof opened !== "string") return opened;
  log(opened);
  return null;
}

function errorText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : toErrorText(error);
}

/** The work of `serve` without its listener, its channels' ears and its schedules. */
export async function joinFleet(
  given: ListenDeps,
  { labels: own, concurrency: lanes, log }: JoinOptions,
): Promise<JoinedFleet> {
  const labels = [...new Set([...labelsOf(given.config), ...own])];
  const config = { ...given.config, serve: { ...given.config.serve, max_chats: lanes } };
  const place = { kind: "join", labels, lanes, publicUrl: null, log } as const;
  const working = await openWorking({ ...given, config }, place);
  await working.start().catch(async (error: unknown) => {
    await working.giveUp();
    throw error;
  });
  return {
    machineName: hostname(),
    labels,
    reload: () => given.state.reload(),
    stop: () => working.stop(),
  };
}
