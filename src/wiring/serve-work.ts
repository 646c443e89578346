import { enterFleet } from "../application/fleet/machine-presence.ts";
import { createTroubleReporter } from "../application/serve/tell-troubles.ts";
import type { ProcessKind } from "../application/ports/fleet.ts";
import { createNotifyTaskEnd } from "../application/tasks/tell-end.ts";
import { chatMessagesFor, solveMessagesFor } from "../domain/texts/texts.ts";
import { readMachineId } from "../infrastructure/fleet/machine-id.ts";
import { type OpenedQueue, openWorkQueue } from "../infrastructure/serve/open-work-queue.ts";
import { timers } from "../infrastructure/platform/runtime-timers.ts";
import { createMessageStore } from "../infrastructure/serve/message-store.ts";
import { workspaceQueues } from "../infrastructure/serve/message-work.ts";
import { isStoreAway } from "../infrastructure/store/store-away.ts";
import { openFleet, openMachine } from "./fleet.ts";
import { type Inbox, openInbox } from "./serve-inbox.ts";
import type { ListenDeps, ServeDeps } from "./serve-parts.ts";

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

/** What `serve` and `join` share: a place in the fleet, messages to answer, replies to send, tasks to carry out. */
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
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
