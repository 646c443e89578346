/**
 * Who may work on a chat, among all processes that share the store. A lease ends when it is released, or when the process
 * that has it is dead: the same judgement as for work of the queue. Exclusion is strict; order is by ticket. An owner is
 * one piece of work, not a process: its name is used once.
 */
export interface ChatLeases {
  /** A place in the line. */
  enter(chatKey: string, owner: string): Promise<number>;
  leave(chatKey: string, owner: string): Promise<void>;
  /** Takes the lease when it is free and nobody alive stands before the ticket. */
  take(request: LeaseRequest): Promise<{ readonly taken: boolean; readonly ahead: number }>;
  /** Says that this process lives; to be called often by whoever holds a lease or waits for one. */
  beat(): Promise<void>;
  /** `held` is false when another has the lease by now; `stop` when somebody asked for that. */
  look(chatKey: string, owner: string): Promise<{ readonly held: boolean; readonly stop: boolean }>;
  release(chatKey: string, owner: string): Promise<void>;
  /** Asks the holder to stop; false when nobody works on the chat. */
  requestStop(chatKey: string): Promise<boolean>;
}

export interface LeaseRequest {
  readonly chatKey: string;
  readonly owner: string;
  readonly ticket: number;
}
