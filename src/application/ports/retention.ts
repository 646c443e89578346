/** What the store keeps for a while, each kind for as long as the configuration says. */
export const KEPT_KINDS = ["messages", "sessions", "usage", "tasks", "dead_letters"] as const;

export type KeptKind = (typeof KEPT_KINDS)[number];

export interface RetentionStore {
  /** True for one of all processes, and for nobody again before that time has passed by the database's clock. */
  takeTurn(everyMs: number): Promise<boolean>;
  /**
   * Forgets at most `limit` things of a kind that ended before that time, with what belongs to them, in one transaction;
   * how many they were. What waits, runs or is open is never among them.
   */
  forget(kind: KeptKind, before: Date, limit: number): Promise<number>;
}
