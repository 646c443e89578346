import { createViewerJobs, type OwnJobs } from "../application/fleet/viewer-jobs.ts";
import { storedJobActions } from "../application/jobs/follow-up-actions.ts";
import { nameJobId } from "../application/jobs/job-names.ts";
import type { Channel } from "../application/ports/serve.ts";
import { createMessageAnswerer, settleEarlier } from "../application/serve/answer-messages.ts";
import { chooseMessageLane, createReceiver, openAdmission } from "../application/serve/receive-messages.ts";
import { createReplySender } from "../application/serve/send-replies.ts";
import { type Bus, createLiveWorks } from "../application/serve/serve-events.ts";
import { createWorkKeeper } from "../application/serve/take-work.ts";
import { formatDayIn } from "../domain/platform/days.ts";
import { chatMessagesFor } from "../domain/texts/chat.ts";
import { maskAtEdge } from "../infrastructure/platform/standard-streams.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { randomBytes, type ServeDeps } from "./serve-state.ts";

interface InboxPlaces {
  readonly bus: Bus;
  /** Filled by the caller once it can receive: a channel is opened with what is made here. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Whether the configuration lets a user speak on a channel. */
  readonly isAllowed: (channel: string, userId: string) => boolean;
}

/** Receiving, answering and sending. Nothing runs before it is started. */
export async function openInbox(deps: ServeDeps, { bus, channels, isAllowed }: InboxPlaces) {
  const { store, words, onTrouble } = deps;
  /** Asked again for every message, so that a reload takes effect. */
  const { current } = deps.state;
  const { now } = timers;
  const live = createLiveWorks(bus, () => now().getTime());
  const keeper = createWorkKeeper({ queue: deps.queue, timers, onTrouble, guard: deps.guard });
  const common = { store, bus, keeper, timers, channel: (name: string) => channels.get(name) };
  const labels = () => chatMessagesFor(current().locale).actions;
  const sending = createReplySender({
    ...common,
    present: async (reply) => ({ ...reply, actions: await (control ?? own).actions(reply, labels()) }),
    away: () => control?.awayReplies() ?? [],
    chance: Math.random,
    mask: maskAtEdge,
    onTrouble,
  });
  const answering = createMessageAnswerer({
    ...common,
    conversation: () => current().conversation,
    images: () => current().images,
    nameJob: (jobId) => nameJobId(current().workspace.archive, jobId),
    hasOthers: async () => (await control?.hasOthers()) ?? false,
    settleEarlier: (id, noted) => settleEarlier(current().workspace, id, noted),
    actionsFor: (jobIds) => storedJobActions(current().workspace.archive, jobIds, labels()),
    uuid: () => crypto.randomUUID(),
    messages: words,
    locale: () => current().locale,
    dayOf: (at) => formatDayIn(current().config.session.timezone, at),
    limit: deps.lanes,
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
  const local = { own, bus, keeper, reaches: (name: string) => channels.has(name), send: sending.look };
  /** Null where the store is not shared. */
  const control =
    deps.services.databaseUrl === undefined
      ? null
      : await (await import("./control.ts")).openControl(deps, local);
  const receiver = createReceiver({
    store,
    images: () => current().images,
    admit: openAdmission({
      access: deps.access,
      isAllowed,
      since: deps.startedAt,
      messages: words,
      perMinute: () => current().config.serve.rate_limit,
      random: randomBytes,
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
  return { bus, live, keeper, receiver, answering, sending, control, viewerJobs, channels };
}
