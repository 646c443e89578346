import { availableParallelism, hostname } from "node:os";
import { allowedUsers, openChannels } from "../adapters/channels/registry.ts";
import { createWebChannel } from "../adapters/web/host.ts";
import { enterFleet } from "../application/fleet/machine-presence.ts";
import { createViewerJobs, type OwnJobs } from "../application/fleet/viewer-jobs.ts";
import { createWorkingProcess } from "../application/fleet/working-process.ts";
import { storedJobActions } from "../application/jobs/action-report.ts";
import { nameJobId } from "../application/jobs/job-facts.ts";
import type { ProcessKind } from "../application/ports/fleet.ts";
import type { Channel } from "../application/ports/serve.ts";
import type { LentStore } from "../application/ports/store-lent.ts";
import { createKnownPeople, createMayStillWrite, createPairingCodes } from "../application/serve/access.ts";
import { createMessageAnswerer, settleEarlier } from "../application/serve/answer-messages.ts";
import { createHands, type Hands } from "../application/serve/hands.ts";
import { createServeTroubles, createTroubleReporter } from "../application/serve/health.ts";
import {
  chooseMessageLane,
  createAdmission,
  createReceiver,
  replyChannelOf,
} from "../application/serve/receive-messages.ts";
import { createReplySender } from "../application/serve/send-replies.ts";
import { type Bus, createBus, createLiveWorks, logMessages } from "../application/serve/serve-events.ts";
import { type JoinedFleet, type JoinOptions, joinWorking } from "../application/serve/server.ts";
import { createWorkKeeper, type WorkKeeper } from "../application/serve/take-work.ts";
import { machineLabels } from "../config/settings.ts";
import { formatDayIn } from "../domain/platform/days.ts";
import { toErrorText } from "../domain/platform/error-text.ts";
import { maskSecrets } from "../domain/platform/mask.ts";
import { readStoreAway } from "../domain/store/store-trouble.ts";
import { chatMessagesFor } from "../domain/texts/chat.ts";
import { openFleet } from "../infrastructure/fleet/fleet-store.ts";
import { createLineLogger } from "../infrastructure/platform/line-logger.ts";
import { maskAtEdge } from "../infrastructure/platform/standard-streams.ts";
import { startTimer, timers } from "../infrastructure/platform/timers.ts";
import { createHandStarter } from "../infrastructure/serve/hand-process.ts";
import { createMessageStore } from "../infrastructure/serve/message-store.ts";
import { traceparentOf } from "../infrastructure/serve/message-views.ts";
import { workspaceQueues } from "../infrastructure/serve/work-places.ts";
import { openWorkQueue } from "../infrastructure/serve/work-queue.ts";
import { lendStore } from "../infrastructure/store/lent-store.ts";
import { tryWrite } from "../infrastructure/store/open-store.ts";
import { newerSchema } from "../infrastructure/store/schema.ts";
import { VERSION } from "../version.ts";
import { type ListenDeps, randomBytes, type ServeDeps } from "./serve-state.ts";

const { now } = timers;
const uuid = () => crypto.randomUUID();

export async function openChannelInbox(deps: ServeDeps) {
  const { state, services, telemetry, db, onTrouble } = deps;
  const { current } = state;
  const { home, secrets } = services;
  const bus = createBus();
  const mask = (text: string) => current().workspace.mask(text);
  const logger = createLineLogger({ ...services.config.log, home, mask });
  // A hand's events are the front's.
  if (deps.hand === null) logMessages(bus, logger);
  const noteTrouble = createTroubleReporter(
    (error) => logger.warn("channels", "channel.trouble", "channel.trouble", { error }),
    now,
  );
  if (deps.hand !== null) deps.hand.listen(bus);
  telemetry?.tracer.watch(bus, {
    archive: () => current().workspace.archive,
    traceparentOf: (id) => traceparentOf(db, id),
  });
  const isKnown = createKnownPeople(deps.access, (channel, userId) =>
    allowedUsers(current().config, channel).includes(userId),
  );
  const channels = new Map<string, Channel>([["web", createWebChannel()]]);
  const inbox = await openInbox(deps, { bus, channels, isKnown });
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
  return { ...inbox, isKnown, webhooks: reached.webhooks, hear: reached.start };
}

export type ChannelInbox = Awaited<ReturnType<typeof openChannelInbox>>;

export interface WorkerRole {
  readonly kind: ProcessKind;
  readonly labels: readonly string[];
  readonly lanes: number;
  readonly publicUrl: string | null;
  readonly log: (text: string) => void;
}

/** Beside the messages that a server answers. */
const TASKS_AT_ONCE = 2;

/** The work that `serve` and `join` share: a place in the fleet, messages to answer, replies to send, tasks to carry out. */
export async function openWorking(given: ListenDeps, role: WorkerRole) {
  const { services, state, db, workspaceName, owner, owners } = given;
  const { databaseUrl, home } = services;
  const { kind, labels, lanes, log } = role;
  const mask = (text: string) => state.current().workspace.mask(text);
  const report = createServeTroubles({ log, now, mask, logger: services.log });
  // The front asks the same store, and says once that it is away.
  const onTrouble: typeof report = (error, where) => {
    if (kind !== "hand" || readStoreAway(error) === null) report(error, where);
  };
  const uncaught = { count: 0 };
  const noteFault = (error: unknown) => {
    uncaught.count += 1;
    onTrouble(error, "uncaught");
  };
  const { isGone } = owners;
  // A store that takes no writes is reported once: the queue would try again without an end.
  await tryWrite(db, now());
  const opened = await openWorkQueue({ db, databaseUrl, owner, isGone, timers, onTrouble });
  const { queue, newWorkId } = opened;
  const { root } = state.current().workspace;
  const here = { ...owners, owner, root, kind, labels, lanes, version: VERSION };
  const fleet = openFleet({ db, home, workspaceName, now, ...here });
  // Nothing else keeps the process alive yet: with a timer that does not, it would end here without a word.
  const taken = await enterFleet(fleet, { ...timers, after: (ms, run) => startTimer(run, ms) });
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
  const forges =
    services.config.command_executor.enabled && kind !== "hand"
      ? await (await import("./serve-forges.ts")).openServedForges(deps, { ...tasks, acceptsNew: listens })
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
      // The front looks at the same store, says what it finds, and ends its hands with itself.
      ...(kind === "hand"
        ? { log: () => {}, end: () => {} }
        : { log, end: () => void process.kill(process.pid, "SIGTERM") }),
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
  const kind = given.hand === null ? "join" : "hand";
  const working = await openWorking(given, { kind, labels, lanes, publicUrl: null, log });
  given.hand?.take(working.inbox.answering);
  return joinWorking(working, { machineName: hostname(), labels, reload: given.state.reload });
}

interface InboxPlaces {
  readonly bus: Bus;
  /** Filled by the caller once it can receive: a channel is opened with what is made here. */
  readonly channels: ReadonlyMap<string, Channel>;
  readonly isKnown: (channel: string, userId: string) => Promise<boolean>;
}

/** Receiving, answering and sending. Nothing runs before it is started. */
export async function openInbox(deps: ServeDeps, { bus, channels, isKnown }: InboxPlaces) {
  const { store, words, onTrouble } = deps;
  const { current } = deps.state;
  const { now } = timers;
  const live = createLiveWorks(bus, () => now().getTime());
  const keeper = createWorkKeeper({ queue: deps.queue, timers, onTrouble, guard: deps.guard });
  const common = { store, bus, keeper, timers, channel: (name: string) => channels.get(name) };
  /** A hand's events are the front's, which shows them. */
  const quietChannel = (name: string) => {
    const found = channels.get(name);
    return found === undefined || deps.hand === null ? found : { ...found, progress: () => {} };
  };
  const labels = () => chatMessagesFor(current().locale).actions;
  // The front sends the replies of its hands.
  const sending: Pick<ReturnType<typeof createReplySender>, "look" | "sendWaiting" | "stop"> = deps.hand !==
  null
    ? { look: deps.hand.noteReplies, sendWaiting: () => {}, stop: async () => {} }
    : createReplySender({
        ...common,
        present: async (reply) => ({ ...reply, actions: await (control ?? own).actions(reply, labels()) }),
        away: () => control?.awayReplies() ?? [],
        chance: Math.random,
        // Names of files are no texts of a model or a program, which are masked where they arise.
        mask: (text) => maskSecrets(maskAtEdge(text)),
        onTrouble,
      });
  const hands =
    deps.kind === "serve" ? await openHands(deps, { bus, keeper, sendReplies: sending.look }) : null;
  const answering =
    hands ??
    createMessageAnswerer({
      ...common,
      channel: quietChannel,
      conversation: () => current().conversation,
      images: () => current().images,
      nameJob: (jobId) => nameJobId(current().workspace.archive, jobId),
      hasOthers: async () => (await control?.hasOthers()) ?? false,
      mayStillWrite: createMayStillWrite(deps.access, isKnown),
      settleEarlier: (id, noted) => settleEarlier(current().workspace, id, noted),
      actionsFor: (jobIds) => storedJobActions(current().workspace.archive, jobIds, labels()),
      uuid: () => crypto.randomUUID(),
      messages: words,
      locale: () => current().locale,
      dayOf: (at) => formatDayIn(current().config.session.timezone, at),
      limit: deps.lanes,
      isBusy: () => receiver.isBusy(),
      isLastAlone: deps.hand !== null,
      onTrouble: (error, message) => onTrouble(error, message?.id),
    });
  if (hands !== null)
    bus.subscribe((event) => {
      if (event.type === "chat")
        channels.get(replyChannelOf(event.message))?.progress?.(event.message, event.event);
    });
  const isOwn = (pid: number) => pid === process.pid || hands?.has(pid) === true;
  const own: OwnJobs = createViewerJobs({
    workspace: () => current().workspace,
    processes: () => current().processes(),
    store,
    cancelMessage: (id) => answering.cancel(id),
    bus,
    isOwn,
    now,
  });
  const local = {
    own,
    isOwn,
    bus,
    keeper,
    reaches: (name: string) => channels.has(name),
    send: sending.look,
  };
  const control =
    deps.services.databaseUrl === undefined
      ? null
      : await (await import("./control.ts")).openControl(deps, local);
  const receiver = createReceiver({
    store,
    images: () => current().images,
    admit: createAdmission({
      isKnown,
      messages: words,
      perMinute: () => current().config.serve.rate_limit,
      greet: createPairingCodes({ access: deps.access, messages: words, random: randomBytes, now }).greet,
      now,
    }),
    workspace: deps.workspaceName,
    bus,
    wayOf: (message) => chooseMessageLane(current().conversation, message),
    tracing: deps.telemetry?.tracing ?? null,
    now,
    random: randomBytes,
  });
  const viewerJobs = control?.viewerJobs ?? own;
  return { bus, live, keeper, receiver, answering, sending, control, viewerJobs, channels, hands };
}

/** Of a server's own machine; a fleet has `join` on the others. */
async function openHands(
  deps: ServeDeps,
  { bus, keeper, sendReplies }: { bus: Bus; keeper: WorkKeeper; sendReplies: () => void },
): Promise<Hands> {
  const { services, state, db, queue, workspaceName, telemetry, onTrouble, log, words } = deps;
  const { env, options, databaseUrl, config } = services;
  const { messages } = workspaceQueues(workspaceName);
  const most = Math.max(1, Math.min(availableParallelism(), Math.ceil(deps.lanes / LANES_OF_HAND)));
  const { root } = state.current().workspace;
  return createHands({
    start: createHandStarter({ env, workspaceFolder: () => state.current().workspace.root }),
    orders: {
      type: "orders",
      options: { ...options, workspace: root, endsWith: process.pid },
      demo: deps.demo,
      lanes: Math.ceil(deps.lanes / most),
      isTraced: telemetry !== null,
    },
    most,
    lend: () => (databaseUrl === undefined ? lendStore(db) : NOTHING_LENT),
    memoryBytes: config.serve.hand_memory,
    mayClaim: () => queue.waitsIn(messages),
    releaseDead: keeper.beat,
    bus,
    onReplies: sendReplies,
    onModelCall: (call) =>
      telemetry?.tracer.asked({ ...call, begun: new Date(call.begun), ended: new Date(call.ended) }),
    say: (why, pid) => log(words().handEnded(why, pid)),
    clock: () => performance.now(),
    timers,
    onTrouble,
  });
}

/** More lanes than that are shared by several processes, as far as there are cores. */
const LANES_OF_HAND = 25;

const NOTHING_LENT: LentStore = {
  answer: async ({ id }) => ({ id, failure: { message: "no store is lent" } }),
  takeBack: async () => {},
  hear: () => {},
  close: async () => {},
  isOpen: () => false,
};
