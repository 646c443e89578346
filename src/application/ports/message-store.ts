import type { Delivery, InboundMessage, Outgoing, StoredMessage } from "./channel.ts";

/**
 * Inbox and outbox of one workspace. What `add` and `finish` resolve for survives the death of the process. Several
 * processes may share one store: a message or a reply belongs to whoever claimed it, until its lease ends. A message is
 * kept with the workspace it was sent to; it is claimed, answered and shown there only, and waits while nobody serves
 * that workspace.
 */
export interface MessageStore {
  /** Stores a message, unless its channel has sent the same event id before. */
  add(
    message: InboundMessage,
    id: string,
    at: string,
  ): Promise<{ readonly added: boolean; readonly id: string }>;
  /** Many at once, in one transaction and in order. */
  addAll(
    messages: readonly { readonly message: InboundMessage; readonly id: string; readonly at: string }[],
  ): Promise<readonly { readonly added: boolean; readonly id: string }[]>;
  /** Chats with messages that nobody has claimed, or whose lease is over. */
  waitingChats(now: string): Promise<ChatKey[]>;
  /** The chat's oldest unanswered message, now claimed; null while another of this chat is being answered. */
  claimNext(chat: ChatKey, claim: Claim): Promise<StoredMessage | null>;
  /** Claims that message though another of its chat is being answered; null when it is no longer waiting. */
  claimBeside(messageId: string, claim: Claim): Promise<StoredMessage | null>;
  /** Prolongs the leases of this owner. */
  renew(owner: string, leaseUntil: string): Promise<void>;
  /** Notes that a message has caused a job, before anything of the job is applied. */
  noteJob(job: OwnedJob): Promise<void>;
  jobsOf(messageId: string): Promise<string[]>;
  /** Ends a message and puts its replies into the outbox, both or neither. False when the claim was lost. */
  finish(messageId: string, owner: string, replies: readonly NewReply[]): Promise<boolean>;
  /** Gives a claimed message back. Unless it had `begun`, this attempt does not count. */
  handBack(messageId: string, owner: string, options: { readonly begun: boolean }): Promise<void>;
  /** Puts a reply of nobody's asking into the outbox. */
  post(reply: NewReply): Promise<void>;
  /** Chats with replies that were not sent yet. */
  replyChats(): Promise<ChatKey[]>;
  /** The chat's oldest unsent reply, now claimed; or when to ask again; null when there is none. */
  claimReply(chat: ChatKey, claim: Claim): Promise<ClaimedReply | { readonly notBefore: string } | null>;
  markSent(key: string, at: string): Promise<void>;
  retryAt(key: string, at: string, reason: string): Promise<void>;
  giveUp(key: string, at: string, reason: string): Promise<void>;
  /** Takes away the claims of other owners that `isGone` says are dead. */
  releaseDead(isGone: (owner: string) => boolean): Promise<number>;
  /** What was said in a chat, oldest first; the newest `limit`. */
  transcript(filter: {
    readonly channel: string;
    readonly chatId: string;
    readonly limit: number;
    /** Only messages before this id. */
    readonly before?: string;
  }): Promise<Exchange[]>;
  /** Chats by their last message, newest first. */
  chats(filter: {
    readonly channel?: string;
    readonly userId?: string;
    readonly limit: number;
  }): Promise<Chat[]>;
  message(id: string): Promise<StoredMessage | null>;
  repliesTo(messageId: string): Promise<Exchange["replies"]>;
  /** The jobs a user caused, newest first. */
  jobIdsOf(user: { readonly channel: string; readonly userId: string }, limit: number): Promise<string[]>;
  ownerOf(jobId: string): Promise<OwnedJob | null>;
  /** From that day on, oldest first; of one user, or of all. */
  usage(filter: {
    readonly fromDay: string;
    readonly user?: { readonly channel: string; readonly userId: string };
  }): Promise<UsageRow[]>;
  counts(): Promise<StoreCounts>;
  /** Forgets what was finished before a time. */
  prune(before: string): Promise<number>;
}

export interface Claim {
  readonly owner: string;
  readonly now: string;
  readonly leaseUntil: string;
}

export interface ChatKey {
  readonly channel: string;
  readonly chatId: string;
}

export interface OwnedJob {
  readonly jobId: string;
  readonly channel: string;
  readonly userId: string;
  readonly messageId: string | null;
  readonly at: string;
}

export interface NewReply {
  readonly key: string;
  readonly messageId: string | null;
  readonly channel: string;
  readonly chatId: string;
  readonly userId: string;
  readonly content: Outgoing;
  readonly replyTo?: Readonly<Record<string, unknown>>;
  readonly since: string;
  readonly at: string;
  /** The day it counts for, as the session's time zone has it: `2026-03-01`. */
  readonly day?: string;
}

/** What the answers of one day by one model cost. */
export interface UsageRow {
  readonly day: string;
  readonly provider: string;
  readonly model: string;
  readonly local: boolean;
  readonly replies: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

export interface ClaimedReply extends Delivery {
  /** It was being sent when its process died: it may have arrived. */
  readonly mayHaveArrived: boolean;
  readonly createdAt: string;
}

/** A message and what was answered. */
export interface Exchange {
  readonly message: StoredMessage;
  readonly replies: readonly {
    readonly content: Outgoing;
    readonly at: string;
    readonly state: ReplyState;
  }[];
}

export type ReplyState = "waiting" | "sending" | "sent" | "failed";

export interface Chat {
  readonly channel: string;
  readonly chatId: string;
  readonly userId: string;
  readonly messages: number;
  readonly lastAt: string;
  readonly lastText: string;
}

export interface StoreCounts {
  readonly received: number;
  readonly working: number;
  readonly done: number;
  readonly waitingReplies: number;
  readonly failedReplies: number;
}
