import type { Delivery, InboundMessage, MessageState, Outgoing, StoredMessage } from "./channel.ts";
import type { Span } from "./platform.ts";
import type { ClaimRequest, Work } from "./work-queue.ts";

/**
 * Inbox and outbox of one workspace. What `addAll` and `finish` resolve for survives the death of the process. Several
 * processes may share one store: a message or a reply belongs to whoever claimed its work. A message is kept with the
 * workspace it was sent to; it is claimed, answered and shown there only, and waits while nobody serves that workspace.
 */
export interface MessageStore {
  /**
   * Stores messages in one transaction and in order, without those whose channel has sent the same event id before. None
   * of them when `onlyIf`, asked within that transaction, says no.
   */
  addAll(
    messages: readonly NewMessage[],
    onlyIf?: (within: unknown) => Promise<boolean>,
  ): Promise<readonly { readonly added: boolean; readonly id: string }[]>;
  /** The next message that may be answered, now claimed; null when there is none. */
  claimMessage(request: MessageRequest): Promise<ClaimedMessage | null>;
  /** Notes that a message has caused a job, before anything of the job is applied. */
  noteJob(job: OwnedJob): Promise<void>;
  jobsOf(messageId: string): Promise<string[]>;
  /**
   * Ends a message and puts its replies into the outbox, both or neither; `lost` when it belongs to another by now. May be
   * repeated when it rejects. `dead`: why the message was given up.
   */
  finish(
    work: Work,
    end: { readonly replies: readonly NewReply[]; readonly dead?: string },
  ): Promise<"done" | "lost">;
  /** Gives a claimed message back. Unless it had `begun`, this attempt does not count. */
  handBack(work: Work, options: { readonly begun: boolean }): Promise<"done" | "lost">;
  /** Puts a reply of nobody's asking into the outbox, unless `onlyIf`, asked within that transaction, says no. */
  post(reply: NewReply, onlyIf?: (within: unknown) => Promise<boolean>): Promise<void>;
  /**
   * The next reply that may be sent, now claimed and marked as being sent; null when there is none. With `away`, of a
   * workspace whose machine is away.
   */
  claimReply(away?: AwayReplies): Promise<{ readonly work: Work; readonly reply: ClaimedReply } | null>;
  /** Ends a reply: it was sent, or it never will be. */
  endReply(
    work: Work,
    end: { readonly state: "sent" | "failed"; readonly at: string; readonly reason: string | null },
  ): Promise<"done" | "lost">;
  /** A claimed reply is not being sent: it has certainly not arrived, and waits until that time. */
  restReply(key: string, until: string, reason: string): Promise<void>;
  /** A claimed reply that rested is being sent again. */
  resendReply(key: string): Promise<void>;
  /** Gives a claimed reply that rests back. */
  handBackReply(work: Work): Promise<"done" | "lost">;
  /** Of these chats the messages that are not answered yet, and the newest of each. */
  standing(chats: readonly ChatKey[]): Promise<readonly StandingMessage[]>;
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
}

export interface NewMessage {
  readonly message: InboundMessage;
  readonly id: string;
  readonly at: string;
  /** It does not wait for its turn in the chat. */
  readonly beside: boolean;
  /** It is answered without a model, and needs no lane. */
  readonly light: boolean;
  /** Of its receiving, where that is traced; it is not kept. */
  readonly span?: Span;
}

export type MessageRequest = Pick<ClaimRequest, "lightOnly" | "notGroups">;

export interface ClaimedMessage {
  readonly work: Work;
  readonly message: StoredMessage;
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

export interface AwayReplies {
  readonly workspace: string;
  /** To these nobody here can speak. */
  readonly except: readonly { readonly channel: string; readonly userId: string }[];
}

export interface ClaimedReply extends Delivery {
  /** It was being sent when its process died: it may have arrived. */
  readonly mayHaveArrived: boolean;
  readonly createdAt: string;
  /** It was not marked as being sent: it rests until then. */
  readonly restsUntil: string | null;
}

/** A message and what was answered; what nobody asked for stands with the message that it followed. */
export interface StandingMessage extends ChatKey {
  readonly id: string;
  readonly state: MessageState;
}

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
