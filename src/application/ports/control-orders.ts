import type { Role } from "./access.ts";
import type { Work } from "./work-queue.ts";

/** What one machine asks of another about a job: look at it, or do something with it. */
export interface ControlOrder {
  /** A UUIDv7. The same id twice is one order. */
  readonly id: string;
  /** The workspace that holds the job, as the store names it. */
  readonly workspace: string;
  readonly jobId: string;
  readonly verb: OrderVerb;
  readonly asker: OrderAsker;
  /** Take back over what stands in the way. */
  readonly force?: boolean;
  /** The one file that is asked for. */
  readonly path?: string;
}

export const LOOKING_VERBS = ["show", "diff", "output"] as const;
export const ACTING_VERBS = ["undo", "redo", "apply", "rest", "discard", "stop"] as const;
export type OrderVerb = (typeof LOOKING_VERBS)[number] | (typeof ACTING_VERBS)[number];

/** Whoever waits for an answer listens to this name of the queue. */
export const ORDER_ENDS = "order-ends";

/** Whoever asks, as their session or token says, or the message that they sent to a chat. Whoever serves the order looks that up again. */
export interface OrderAsker {
  readonly channel: string;
  readonly userId: string;
  readonly role: Role;
}

/**
 * Orders and their answers. An order is carried out at most once: by whoever took it before its deadline passed, by the
 * database's clock, and before it was withdrawn. One that was taken by a process that died is not begun again.
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
  /** True: nobody had taken it, and nobody will. */
  withdraw(id: string): Promise<boolean>;
  /** Whether a message of theirs is being answered, on whichever machine. */
  isHeard(asker: Omit<OrderAsker, "role">): Promise<boolean>;
  /** Forgets orders that nobody came back for. */
  sweep(): Promise<void>;
}

/** `cut-off`: whoever had taken it died over it. `gone`: it was taken, and its machine is silent since. */
export type OrderState = "waiting" | "taken" | "answered" | "cut-off" | "gone" | "withdrawn";
