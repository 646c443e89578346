import type { FleetMessages } from "../../domain/texts/fleet.ts";
import type { JournalLine, StoredJob } from "./jobs.ts";
import type { NotOpened } from "./jobs-workspace.ts";
import type { ChatKey, DeadWork, Role, Work } from "./serve.ts";

/**
 * The machines that share a store. A machine is a home, its id a file there, held by one incarnation (boot and pid namespace) at a
 * time, so that a copied home is not taken for a restarted machine. All times are the database's.
 */
export interface FleetStore {
  /**
   * Takes the machine's id for this incarnation. `taken`: another had it and did not leave, on a shared store however long ago, on the
   * embedded one within `DEAD_AFTER_MS`. With `unlessSeenSince`, only one that was heard of since then is in the way.
   */
  enter(unlessSeenSince?: number): Promise<EnterResult>;
  /** Reports that this process lives, and its load. `replaced`: another incarnation has the machine's id by now. */
  beat(load: MachineLoad): Promise<"held" | "replaced">;
  /** This process is not listed any more; after the machine's last one, its id is free. */
  leave(): Promise<void>;
  /** Whether that process of this machine is a server with a recent sign of life. */
  serves(pid: number): Promise<boolean>;
  machines(): Promise<readonly Machine[]>;
  /** The waiting work, by the workspace it waits for. */
  queues(): Promise<readonly QueueDepth[]>;
  /** Chats whose messages wait for a workspace that has not been served for `DEAD_AFTER_MS`, and that were not notified yet. */
  waitingForAway(limit: number): Promise<readonly WaitingChat[]>;
  /** The recipients of replies whose workspace has not been served for `DEAD_AFTER_MS`. */
  repliesOfAway(): Promise<
    readonly { readonly workspace: string; readonly channel: string; readonly userId: string }[]
  >;
  /** Within the transaction that posts the notice; false when another process notified the chat. */
  noteAwayNotice(chat: WaitingChat, within: unknown): Promise<boolean>;
  /** Chats that were notified that they wait for this process's workspace. */
  listAwayNotices(): Promise<readonly WaitingChat[]>;
  /** Within the transaction that posts the good news; false if it was already removed. */
  forgetAwayNotices(chat: WaitingChat, within: unknown): Promise<boolean>;
}

type EnterResult =
  | { readonly status: "entered" }
  | { readonly status: "taken"; readonly name: string; readonly seenAt: number };

export interface MachineLoad {
  /** Claimed pieces of work. */
  readonly busy: number;
  readonly draining: boolean;
  readonly lacking?: readonly string[];
}

export interface Machine {
  readonly id: string;
  readonly name: string;
  /** Whether one of its processes gave a sign of life within `DEAD_AFTER_MS`. */
  readonly here: boolean;
  readonly seenAt: Date;
  readonly processes: readonly MachineProcess[];
}

export interface MachineProcess {
  readonly kind: ProcessKind;
  readonly root: string;
  readonly labels: readonly string[];
  readonly lanes: number;
  readonly busy: number;
  readonly version: string;
  readonly draining: boolean;
  readonly startedAt: Date;
}

export type ProcessKind = "serve" | "join" | "hand";

interface QueueDepth {
  /** Null where the workspace's machine is not known. */
  readonly machineId: string | null;
  readonly root: string;
  readonly waiting: number;
  readonly working: number;
  readonly replies: number;
}

export interface WaitingChat extends ChatKey {
  /** As the store names it. */
  readonly workspace: string;
  readonly userId: string;
  readonly machineName: string;
}

/** The data that `picoclaw fleet` and the console show. */
export interface FleetView {
  /** The id of the machine that is asked. */
  readonly self: string;
  readonly machines: readonly Machine[];
  readonly queues: readonly QueueDepth[];
  readonly dead: readonly DeadWork[];
}

export interface FleetControl {
  view(): Promise<FleetView>;
  /** False when nothing of that id was given up. */
  retry(id: string): Promise<boolean>;
  discard(id: string): Promise<boolean>;
}

export type OpenedFleet =
  | {
      readonly ok: true;
      readonly control: FleetControl;
      readonly words: FleetMessages;
      close(): Promise<void>;
    }
  | NotOpened;

/** The report to every machine about a job of one: small enough to be written four times a second. */
export interface JobSummary {
  /** With the first of its changes only, where there are many. */
  readonly job: StoredJob;
  /** The number of changed files, if the job is reported with the first of them only. */
  readonly changeCount?: number;
  readonly alive: boolean;
  readonly events: readonly JournalLine[];
  /** The end of its output, while it runs; absent if another process has it. */
  readonly tail?: string;
}

export interface FleetJob extends Omit<JobSummary, "tail"> {
  readonly tail: string;
  /** As the store names it. */
  readonly workspace: string;
  readonly root: string;
  readonly machine: JobMachine;
  /** Changes with every change of the summary. */
  readonly version: string;
}

export interface TailedJob extends Pick<FleetJob, "events" | "tail"> {
  readonly jobId: string;
  readonly messageId: string;
}

export interface JobMachine {
  readonly id: string;
  readonly name: string;
  /** Whether a process that serves the job's workspace gave a recent sign of life. */
  readonly here: boolean;
}

/** Jobs of all workspaces of a shared store, as their machines last reported them. */
export interface FleetJobs {
  write(summary: JobSummary): Promise<void>;
  /** When the state of each job of this workspace changed, as last reported. */
  reported(): Promise<ReadonlyMap<string, string>>;
  forget(jobIds: readonly string[]): Promise<void>;
  /** Forgets jobs of machines that have been silent for this long. */
  prune(keepMs: number): Promise<void>;
  read(jobId: string): Promise<FleetJob | null>;
  /** Of the other workspaces, oldest first, without events and tail: the newest `limit`, of all people or of these. */
  others(filter: {
    readonly limit: number;
    readonly of?: readonly { readonly channel: string; readonly userId: string }[];
  }): Promise<readonly FleetJob[]>;
  /** Oldest first. */
  ofGroup(groupId: string, workspace: string): Promise<readonly FleetJob[]>;
  /** Jobs of this workspace that run for these messages, oldest first. */
  atWork(messageIds: readonly string[]): Promise<readonly TailedJob[]>;
  /** Changes whenever a job of another workspace does. */
  latest(): Promise<string>;
  /** Changes whenever the report of the job does. */
  version(jobId: string): Promise<string>;
  home(): Promise<{ readonly machine: JobMachine; readonly alone: boolean }>;
}

/** A request from one machine to another about a job: look at it, or act on it. */
export interface ControlOrder {
  /** A UUIDv7. The same id twice is one order. */
  readonly id: string;
  readonly workspace: string;
  readonly jobId: string;
  readonly verb: OrderVerb;
  readonly asker: OrderAsker;
  /** Undo despite conflicts. */
  readonly force?: boolean;
  readonly path?: string;
}

export const LOOKING_VERBS = ["show", "diff", "output"] as const;
export const ACTING_VERBS = ["undo", "redo", "apply", "rest", "discard", "stop"] as const;
export type OrderVerb = (typeof LOOKING_VERBS)[number] | (typeof ACTING_VERBS)[number];

/** A caller that waits for an answer listens to this name of the queue. */
export const ORDER_ENDS = "order-ends";

/** As their session, token or message states; the machine that serves the order looks that up again. */
interface OrderAsker {
  readonly channel: string;
  readonly userId: string;
  readonly role: Role;
}

/**
 * Orders and their answers. An order is carried out at most once, by a machine that took it before its deadline (database's clock)
 * and before it was withdrawn. One that was taken by a process that died is not begun again.
 */
export interface ControlOrders {
  place(order: ControlOrder, limitMs: number): Promise<void>;
  /** The next order to this workspace that may be carried out; null when there is none. */
  take(): Promise<{ readonly work: Work; readonly order: ControlOrder } | null>;
  /** Ends an order. The answer is kept in pieces of at most 64 KiB. May be repeated when it rejects. */
  answer(work: Work, answer: string): Promise<"done" | "lost">;
  /** Leaves an order that was not begun to another process of this workspace. */
  passOn(work: Work): Promise<"done" | "lost">;
  look(ids: readonly string[]): Promise<ReadonlyMap<string, OrderState>>;
  /** The answer of an order that has one, once. */
  collect(id: string): Promise<string>;
  /** True: no machine had taken it, and none will. */
  withdraw(id: string): Promise<boolean>;
  /** Whether a message of theirs is being answered, on whichever machine. */
  isHeard(asker: Omit<OrderAsker, "role">): Promise<boolean>;
  /** Forgets orders whose answer was never read. */
  sweep(): Promise<void>;
}

/** `cut-off`: the process that had taken it died. `gone`: it was taken, and its machine is silent since. */
export type OrderState = "waiting" | "taken" | "answered" | "cut-off" | "gone" | "withdrawn";
