import type { Workspace } from "../ports/jobs-workspace.ts";
import type { Timers } from "../ports/platform.ts";
import type { Channel, WorkQueue } from "../ports/serve.ts";
import type { WorkKeeper } from "../serve/take-work.ts";
import type { Control } from "./control.ts";
import { type Machine, type MachineDeps, openMachine } from "./machine-presence.ts";

interface TaskService {
  lacking(): readonly string[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface WorkTaking {
  look(): void;
  stop(graceMs: number): Promise<void>;
}

export interface WorkingInbox {
  readonly keeper: WorkKeeper;
  readonly answering: WorkTaking & { readonly running: number };
  readonly sending: WorkTaking;
  /** Null where the store is not shared. */
  readonly control: Control | null;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly hear: () => Promise<void>;
}

export interface WorkingProcessDeps {
  readonly inbox: WorkingInbox;
  readonly tasks: TaskService | null;
  readonly workspace: () => Pick<Workspace, "repair" | "closeDeadJobs">;
  readonly queue: Pick<WorkQueue, "onWork" | "close">;
  readonly queues: { readonly messages: string; readonly replies: string };
  /** Only a process that listens receives messages of services; any process may answer them. */
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
