import type { ChatEvent, Reply, Route } from "./conversation.ts";

/**
 * A way people reach PicoClaw: LINE, Slack, Telegram, the web, a terminal.
 *
 * In: the channel checks who speaks (signature, session, token), turns what came into an `InboundMessage` and calls
 * `receive`. When that promise resolves the message is stored, and only then may the channel acknowledge it. Out:
 * `deliver` is called once per stored reply, again after a failure or a restart, always with the same `key`.
 *
 * A channel keeps no state that a restart may not lose.
 */
export interface Channel {
  /** `line`, `slack`, `web`, `cli`: the first half of a session's key. */
  readonly name: string;
  /**
   * Sends one reply. Never rejects; it ends within a minute or when the signal says so. The same `key` may come again:
   * a channel whose service knows idempotency keys passes it on, so that the reader sees the reply once.
   */
  deliver(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult>;
  /**
   * Whether a reply that was being sent when the process died arrived. Absent: the service tells doubles by their key,
   * so that sending again is safe. `unknown` counts as not arrived.
   */
  wasDelivered?(delivery: Delivery, signal: AbortSignal): Promise<boolean | "unknown">;
  /** What happens while a message is worked on: typing marks, streamed text. At the channel's own pace; never throws. */
  progress?(message: StoredMessage, event: ChatEvent): void;
  /** Whether the service can be reached, for `/readyz`. Never rejects. */
  check(signal: AbortSignal): Promise<ChannelCheck>;
  /** Frees what the channel holds; nothing is delivered afterwards. */
  close(): Promise<void>;
}

/** What a channel hands in. Everything in it is kept until the message is answered, so it carries no secret. */
export interface InboundMessage {
  readonly channel: string;
  /** The service's own id of this event. The same one twice is one message. */
  readonly eventId: string;
  readonly chatId: string;
  readonly userId: string;
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  readonly forcedRoute?: Route;
  readonly strict?: boolean;
  /** What the channel needs to answer: a reply token, a thread. Plain JSON, handed back in `Delivery`. */
  readonly replyTo?: Readonly<Record<string, unknown>>;
  /** The trace that it belongs to, as W3C Trace Context writes it. */
  readonly traceparent?: string;
}

/** A file that came with a message. The models read text; of other files they learn name and size only. */
export interface Attachment {
  readonly name: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly text?: string;
}

/**
 * Stores a message. Rejects only when it could not be stored: then it must not be acknowledged, so that the service
 * sends it again.
 */
export type Receive = (message: InboundMessage) => Promise<ReceiveResult>;

export type ReceiveResult =
  | { readonly status: "accepted"; readonly messageId: string }
  /** It is stored already; acknowledge it and do nothing else. */
  | { readonly status: "duplicate"; readonly messageId: string }
  | {
      readonly status: "refused";
      readonly reason: "stranger" | "too-many" | "too-long";
      /** For a person, in their language: how to be let in, or when to try again. Empty: nothing is to be said. */
      readonly text: string;
    };

/** A message as it is kept. */
export interface StoredMessage extends InboundMessage {
  /** `msg_<unix>_<8 characters>`; the group of the jobs that it causes. */
  readonly id: string;
  /** The root of the workspace it was sent to; "" when it came before messages were kept with one. */
  readonly workspace: string;
  readonly receivedAt: string;
  readonly state: MessageState;
  /** How often its answering was begun. */
  readonly attempts: number;
}

export type MessageState = "received" | "working" | "done";

/** One reply on its way to one chat. */
export interface Delivery {
  /** A UUID that stays the same however often this reply is sent. */
  readonly key: string;
  readonly channel: string;
  readonly chatId: string;
  readonly userId: string;
  /** The message that this answers; absent when nobody asked. */
  readonly messageId?: string;
  readonly content: Outgoing;
  readonly replyTo?: Readonly<Record<string, unknown>>;
  /** When the message came that this answers; reply tokens age from here. */
  readonly since: string;
  /** 1 the first time. */
  readonly attempt: number;
}

/** An answer, or a message nobody asked for (a schedule, a task that ended). */
export type Outgoing =
  | { readonly kind: "reply"; readonly reply: Reply }
  | { readonly kind: "notice"; readonly text: string };

export type DeliveryResult =
  | { readonly status: "sent" }
  /** Rate limits, 5xx, no answer, no network: it is tried again, not before `afterMs`. */
  | { readonly status: "later"; readonly reason: string; readonly afterMs?: number }
  /** It never will: the user blocked us, the chat is gone. */
  | { readonly status: "impossible"; readonly reason: string };

export type ChannelCheck =
  | { readonly ok: true; readonly detail: string }
  | { readonly ok: false; readonly detail: string; readonly remedy?: string };
