/**
 * Work that outlives whoever does it: messages to answer, replies to send, tasks, orders. `Within` is the store's own
 * transaction, so that what a piece of work changes and the end of the work are written together or not at all.
 *
 * Work of one key is done one at a time and in the order it was added, also when it is begun again. A claim belongs to
 * one process. It ends with `finish`, with `handBack`, or because the process died: one that has not said `beat` for
 * `DEAD_AFTER_MS` by the database's clock, or that is known to be gone from this machine. Time in which whoever judges
 * could not reach the store itself does not count. Whoever lost a claim can change nothing under it any more.
 */
export interface WorkQueue<Within = unknown> {
  /** Adds work, in its order. With `within` it is there once that transaction is. */
  add(work: readonly NewWork[], within?: Within): Promise<void>;
  /** The next work that may begin, with what `read` finds or notes in the same transaction; null when there is none. */
  claim<T>(
    request: ClaimRequest,
    read: (work: Work, within: Within) => Promise<T>,
  ): Promise<ClaimedWork<T> | null>;
  /**
   * Adds work and claims it in one, so that nobody else comes first. Null, with nothing added, when other work of its key
   * stands before it.
   */
  begin<T>(work: NewWork, read: (work: Work, within: Within) => Promise<T>): Promise<ClaimedWork<T> | null>;
  /**
   * Ends work. `write` and `add` happen in the same transaction. `lost`: it belongs to another by now, or was ended
   * before; nothing was written. Rejects when the store fails: then nothing is known, and the call may be repeated.
   */
  finish(work: Work, end: WorkEnd<Within>): Promise<"done" | "lost">;
  /** Gives work back, to be claimed again at once. Unless it had `begun`, the attempt does not count. May be repeated. */
  handBack(
    work: Work,
    options: { readonly begun: boolean; readonly write?: (within: Within) => Promise<void> },
  ): Promise<"done" | "lost">;
  /**
   * Says that this process lives, every `BEAT_MS`; gives to the others what dead processes had, and what this one claimed
   * without ever learning of it. Resolves for the work in hand that was lost.
   */
  beat(): Promise<readonly Work[]>;
  /**
   * Calls back when there may be work, within a second of its being added anywhere. Returns how to stop listening. Whoever
   * names a queue is not called for what happens in the others alone; whoever claims from queues that it does not know yet
   * names their `kind`, the first part of their names.
   */
  onWork(listener: () => void, of?: WorkSource): () => void;
  /** Work that was given up, newest first. */
  dead(limit: number): Promise<readonly DeadWork[]>;
  /** Puts given up work to the end of its key, as if it were new; false when there is none of that id. */
  retryDead(id: string): Promise<boolean>;
  discardDead(id: string): Promise<boolean>;
  /** Ends the listening. What is in hand must have been ended before. */
  close(): Promise<void>;
}

export interface WorkSource {
  readonly queue?: string;
  readonly kind?: string;
}

export const BEAT_MS = 3_000;
export const DEAD_AFTER_MS = 15_000;

export interface NewWork {
  /** A UUIDv7. */
  readonly id: string;
  /** Who may claim it: the kind of work and the place it belongs to. Letters, digits, `.`, `-`, `_`. */
  readonly queue: string;
  /** What is done in order: a chat in a workspace. */
  readonly key: string;
  /** Whose work it is. Claims can leave out those who have enough of it in hand. */
  readonly group: string;
  /** What it is about, an id: the queue keeps no text. */
  readonly ref: string;
  /** It needs no lane: a command that asks no model. It is claimed before other work. */
  readonly light: boolean;
}

export interface Work extends NewWork {
  /** How often it was begun, this time included. */
  readonly attempt: number;
  /** Which claim this is; a later claim has a higher one. */
  readonly fence: number;
}

export interface ClaimedWork<T> {
  readonly work: Work;
  readonly read: T;
}

export interface ClaimRequest {
  readonly queue: string;
  readonly lightOnly?: boolean;
  readonly notGroups?: readonly string[];
  /** This very piece of work, when it waits and nothing of its key stands before it. */
  readonly id?: string;
}

export interface WorkEnd<Within> {
  /** Work that follows from this one. */
  readonly add?: readonly NewWork[];
  readonly write?: (within: Within) => Promise<void>;
  /** Wakes whoever listens to this name: somebody waits for this end. */
  readonly wake?: string;
  /** Why it is given up; it is kept among the dead. */
  readonly dead?: string;
}

export interface DeadWork extends Omit<Work, "fence"> {
  readonly reason: string;
  readonly at: Date;
}
