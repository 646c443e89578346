import { allowedUsers, type OpenedChannels, openChannels } from "../adapters/channels/registry.ts";
import { createWebChannel } from "../adapters/web/channel.ts";
import { createAdmission } from "../application/serve/admission.ts";
import { createMessageAnswerer } from "../application/serve/answer-messages.ts";
import { createBus } from "../application/serve/bus.ts";
import { createWorkKeeper } from "../application/serve/keep-work.ts";
import { createLiveWorks } from "../application/serve/serve-events.ts";
import { logMessages } from "../application/serve/log-messages.ts";
import { createPairingCodes } from "../application/serve/pairing.ts";
import { chooseMessageLane, createReceiver } from "../application/serve/receive-messages.ts";
import { createReplySender } from "../application/serve/send-replies.ts";
import { settleEarlier } from "../application/serve/settle-earlier.ts";
import { createViewerJobs, type OwnJobs } from "../application/fleet/viewer-jobs.ts";
import type { Channel } from "../application/ports/channel.ts";
import { formatDayIn } from "../domain/chat/day-in.ts";
import { chatMessagesFor } from "../domain/texts/texts.ts";
import { jobActions } from "../domain/jobs/job-actions.ts";
import { timers } from "../infrastructure/platform/runtime-timers.ts";
import { traceparentOf } from "../infrastructure/serve/message-trace.ts";
import { createLineLogger } from "../infrastructure/platform/telemetry-line-logger.ts";
import type { Control } from "./control.ts";
import type { ServeDeps } from "./serve-parts.ts";

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
    dayOf: (at) => formatDayIn(state.current().config.session.timezone, at),
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
