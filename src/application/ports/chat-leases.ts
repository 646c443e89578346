/**
 * Who may work on a chat, among all processes that share the store. A lease ends when it is released, not renewed in
 * time, or when its owner is surely gone. Exclusion is strict; order is by ticket. An owner is one piece of work, not
 * a process: its name is used once.
 */
export interface ChatLeases {
  /** A place in the line. */
  enter(chatKey: string, owner: string, until: Date): Promise<number>;
  /** Keeps the place. */
  keep(chatKey: string, ticket: number, until: Date): Promise<void>;
  leave(chatKey: string, ticket: number): Promise<void>;
  /** Takes the lease when it is free and nobody alive stands before the ticket. */
  take(request: LeaseRequest): Promise<{ readonly taken: boolean; readonly ahead: number }>;
  /** Keeps the lease. `held` is false when another has it by now; `stop` when somebody asked for that. */
  renew(
    chatKey: string,
    owner: string,
    until: Date,
  ): Promise<{ readonly held: boolean; readonly stop: boolean }>;
  release(chatKey: string, owner: string): Promise<void>;
  /** Asks the holder to stop; false when nobody works on the chat. */
  requestStop(chatKey: string, now: Date): Promise<boolean>;
}

export interface LeaseRequest {
  readonly chatKey: string;
  readonly owner: string;
  readonly ticket: number;
  readonly now: Date;
  readonly until: Date;
  /** Whether an owner is surely gone, so that nobody waits for its lease to end. */
  readonly isGone: (owner: string) => boolean;
}
