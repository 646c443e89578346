import { formatDayIn } from "../../domain/chat/session.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import type { ServeMessages } from "../../domain/texts/serve.ts";
import { storedJobActions } from "../jobs/follow-up-actions.ts";
import { nameJobId } from "../jobs/job-names.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { Timers, Tracing } from "../ports/platform.ts";
import type { AccessStore, Channel, WorkQueue } from "../ports/serve.ts";
import { createMessageAnswerer, settleEarlier } from "../serve/answer-messages.ts";
import { chooseMessageLane, createReceiver, openAdmission } from "../serve/receive-messages.ts";
import { createReplySender, type SendRepliesDeps } from "../serve/send-replies.ts";
import { createLiveWorks } from "../serve/serve-events.ts";
import type { ReloadableChat } from "../serve/server.ts";
import { type CommitGuard, createWorkKeeper } from "../serve/take-work.ts";
import type { Control, ControlDeps } from "./control.ts";
import { type Machine, type MachineDeps, openMachine } from "./machine-presence.ts";
import { createViewerJobs, type OwnJobs } from "./viewer-jobs.ts";

export interface InboxDeps extends Pick<SendRepliesDeps, "store" | "bus" | "timers" | "chance" | "mask"> {
  /** Asked again for every message, so that a reload takes effect. */
  readonly current: ReloadableChat["current"];
  readonly access: AccessStore;
  readonly queue: Pick<WorkQueue, "beat">;
  readonly guard: CommitGuard;
  /** The served workspace, as the store names it. */
  readonly workspaceName: string;
  readonly startedAt: Date;
  /** Messages at once. */
  readonly lanes: number;
  readonly words: () => ServeMessages;
  /** Filled by the caller once it can receive: a channel is opened with what is made here. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Whether the configuration lets a user speak on a channel. */
  readonly isAllowed: (channel: string, userId: string) => boolean;
  /** Null where nothing is traced. */
  readonly tracing: Tracing | null;
  /** Null where the store is not shared. */
  readonly openControl:
    | ((local: Pick<ControlDeps, "own" | "bus" | "keeper" | "reaches" | "send">) => Promise<Control>)
    | null;
  readonly pid: number;
  readonly uuid: () => string;
  readonly random: (bytes: number) => Uint8Array;
  readonly onTrouble: (error: unknown, place?: string) => void;
}

/** Receiving, answering and sending. Nothing runs before it is started. */
export type Inbox = Awaited<ReturnType<typeof openInbox>>;

export async function openInbox(deps: InboxDeps) {
  const { current, store, bus, channels, words, timers, uuid, random, onTrouble } = deps;
  const { now } = timers;
  const live = createLiveWorks(bus, () => now().getTime());
  const keeper = createWorkKeeper({ queue: deps.queue, timers, onTrouble, guard: deps.guard });
  const common = { store, bus, keeper, timers, channel: (name: string) => channels.get(name) };
  const labels = () => chatMessagesFor(current().locale).actions;
  const sending = createReplySender({
    ...common,
    present: async (reply) => ({ ...reply, actions: await (control ?? own).actions(reply, labels()) }),
    away: () => control?.awayReplies() ?? [],
    chance: deps.chance,
    mask: deps.mask,
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
    uuid,
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
    pid: deps.pid,
    now,
  });
  const reaches = (channel: string) => channels.has(channel);
  /** Null where the store is not shared. */
  const control = (await deps.openControl?.({ own, bus, keeper, reaches, send: sending.look })) ?? null;
  const receiver = createReceiver({
    store,
    images: () => current().images,
    admit: openAdmission({
      access: deps.access,
      isAllowed: deps.isAllowed,
      since: deps.startedAt,
      messages: words,
      perMinute: () => current().config.serve.rate_limit,
      random,
      now,
    }),
    workspace: deps.workspaceName,
    bus,
    wayOf: (message) => chooseMessageLane(current().conversation, message),
    tracing: deps.tracing,
    now,
    random,
  });
  const viewerJobs = control?.viewerJobs ?? own;
  return { bus, live, keeper, receiver, answering, sending, control, viewerJobs, channels };
}

/** Tasks of forges, as a process carries them out. */
interface TaskService {
  lacking(): readonly string[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorkingInbox
  extends Pick<Inbox, "keeper" | "answering" | "sending" | "control" | "channels"> {
  /** Begins to hear the services. */
  readonly hear: () => Promise<void>;
}

export interface WorkingProcessDeps {
  readonly inbox: WorkingInbox;
  readonly tasks: TaskService | null;
  readonly workspace: () => Pick<Workspace, "repair" | "closeDeadJobs">;
  readonly queue: Pick<WorkQueue, "onWork" | "close">;
  readonly queues: { readonly messages: string; readonly replies: string };
  /** Only one that listens hears services; any may answer them. */
  readonly listens: boolean;
  readonly machine: Omit<MachineDeps, "busy" | "lacking" | "reaches" | "timers" | "onTrouble">;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

/** Together less than the thirty seconds in which a service manager expects us gone. */
const [ANSWER_GRACE_MS, SEND_GRACE_MS] = [20_000, 5_000];

/** A process that works in the fleet: a machine that is here, messages to answer, replies to send, tasks to carry out. */
export function createWorkingProcess(deps: WorkingProcessDeps) {
  const { inbox, tasks, queue, timers, onTrouble } = deps;
  const { keeper, answering, sending, control, channels } = inbox;
  const started: { machine?: Machine } = {};
  const closeChannels = () => Promise.all([...channels.values()].map((channel) => channel.close()));

  async function startInbox(): Promise<void> {
    // First what an earlier process left half done, then what waits.
    const workspace = deps.workspace();
    await workspace.repair();
    await workspace.closeDeadJobs();
    await keeper.start();
    for (const [{ look }, place] of [
      [answering, deps.queues.messages],
      [sending, deps.queues.replies],
    ] as const) {
      queue.onWork(look, { queue: place });
      look();
    }
    await control?.start();
    if (deps.listens) await inbox.hear();
  }

  return {
    async start(): Promise<void> {
      started.machine = await openMachine({
        ...deps.machine,
        busy: () => answering.running,
        lacking: () => tasks?.lacking() ?? [],
        reaches: (channel) => channels.has(channel),
        timers,
        onTrouble,
      });
      await startInbox();
      await tasks?.start();
    },
    /** Its start failed. */
    async giveUp(): Promise<void> {
      keeper.stop();
      await tasks?.stop();
      await control?.stop();
      await closeChannels();
      await queue.close().catch(onTrouble);
      await started.machine?.leave();
    },
    /** Takes nothing new, finishes what runs or hands it back; `close` before the last connections go. */
    async stop(close: () => Promise<void> = async () => {}): Promise<void> {
      started.machine?.drain();
      const tasksEnd = tasks?.stop();
      // A store that does not answer is not waited for longer than anything else.
      const giveUp = timers.after(ANSWER_GRACE_MS + SEND_GRACE_MS, () => keeper.stop());
      await answering.stop(ANSWER_GRACE_MS);
      await sending.stop(SEND_GRACE_MS);
      await control?.stop();
      await tasksEnd;
      giveUp();
      keeper.stop();
      await closeChannels();
      await close();
      await queue.close().catch(onTrouble);
      await started.machine?.leave();
    },
  };
}
