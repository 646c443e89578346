/** What models used and cost. Entries are only added. */
export interface UsageStore {
  record(entry: UsageEntry): Promise<void>;
  /** What was spent from `since` on, in US dollars. */
  spent(since: Date): Promise<number>;
  /** Sums by group; costliest first. */
  totals(filter: UsageFilter): Promise<UsageTotal[]>;
}

export interface UsageEntry {
  readonly at: string;
  readonly chatKey: string;
  readonly sessionId: string;
  /** The jobs of one message. */
  readonly groupId: string;
  readonly role: string;
  readonly provider: string;
  readonly model: string;
  readonly local: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly costUsd: number;
}

export interface UsageFilter {
  readonly by: "model" | "group" | "chat";
  readonly since: Date;
  readonly until?: Date;
  readonly chatKey?: string;
  /** Also chats that are called `<chatKey>.<something>`. */
  readonly withChatsBelow?: boolean;
  readonly groupId?: string;
}

export interface UsageTotal {
  /** `provider/model`, a group's id, or a chat's key. */
  readonly name: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly costUsd: number;
}
