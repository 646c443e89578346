import type { FleetMessages } from "../../domain/texts/texts.ts";
import type { ChatKey } from "./serve.ts";
import type { NotOpened } from "./opening.ts";
import type { DeadWork } from "./work-queue.ts";

/**
 * The machines that share a store. A machine is a home: its id is a file there. It is held by one incarnation at a time,
 * a boot and a pid namespace, so that a copied home is told from a restarted machine. All times are the database's.
 */
export interface FleetStore {
  /**
   * Takes the machine's id for this incarnation. `taken`: another one had it and did not leave: on a shared store
   * however long it has been silent, on the embedded one less than `DEAD_AFTER_MS`. With `unlessSeenSince`, only one
   * that was heard of since then is in the way.
   */
  enter(unlessSeenSince?: number): Promise<EnterResult>;
  /** Says that this process lives and what it has to do. `replaced`: another incarnation has the machine's id by now. */
  beat(load: MachineLoad): Promise<"held" | "replaced">;
  /** The process ends; it is not listed any more. */
  leave(): Promise<void>;
  /** Whether that process of this machine is a server that was heard of lately. */
  serves(pid: number): Promise<boolean>;
  machines(): Promise<readonly Machine[]>;
  /** What waits, by the workspace it waits for. */
  queues(): Promise<readonly QueueDepth[]>;
  /** Chats whose messages wait for a workspace that nobody has served for `DEAD_AFTER_MS`, untold yet. */
  waitingForAway(limit: number): Promise<readonly WaitingChat[]>;
  /** To whom replies wait whose workspace nobody has served for `DEAD_AFTER_MS`. */
  repliesOfAway(): Promise<
    readonly { readonly workspace: string; readonly channel: string; readonly userId: string }[]
  >;
  /** Notes, within the transaction that posts the notice, that a chat is told; false when somebody did. */
  noteTold(chat: WaitingChat, within: unknown): Promise<boolean>;
  /** Chats that were told that they wait for this process's workspace. */
  toldOfUs(): Promise<readonly WaitingChat[]>;
  /** Takes the note back, within the transaction that posts the good news; false when somebody did. */
  forgetTold(chat: WaitingChat, within: unknown): Promise<boolean>;
}

export type EnterResult =
  | { readonly status: "entered" }
  | { readonly status: "taken"; readonly name: string; readonly seenAt: number };

export interface MachineLoad {
  /** Pieces of work in hand. */
  readonly busy: number;
  readonly draining: boolean;
  /** Labels that do not hold now. */
  readonly lacking?: readonly string[];
}

export interface Machine {
  readonly id: string;
  readonly name: string;
  /** Whether a process of it was heard of within `DEAD_AFTER_MS`. */
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

export type ProcessKind = "serve" | "join";

export interface QueueDepth {
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

/** What `picoclaw fleet` and the console show. */
export interface FleetView {
  /** The id of the machine that is asked. */
  readonly self: string;
  readonly machines: readonly Machine[];
  readonly queues: readonly QueueDepth[];
  readonly dead: readonly DeadWork[];
}

/** The fleet for people. */
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
