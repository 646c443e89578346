/** The chats of one channel, as whoever speaks there finds them again. */
export interface NamedChats {
  /** Those of every workspace, the one that was used last first. */
  list(): Promise<readonly NamedChat[]>;
  /**
   * Forgets what was said in a chat of this workspace; its jobs and what it cost stay. `busy`: somebody speaks there,
   * and did not end in time.
   */
  forget(name: string): Promise<"forgotten" | "unknown" | "busy">;
}

export interface NamedChat {
  readonly name: string;
  readonly workspace: string;
  /** Whether it is a chat of the workspace that is open. */
  readonly here: boolean;
  /** How often the user spoke. */
  readonly messages: number;
  readonly lastAt: string;
  /** What the user said last, on one line. */
  readonly lastText: string;
}
