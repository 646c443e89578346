import type { ChatEvent, IncomingMessage, Reply, StoredText } from "./chat.ts";
import type { Span } from "./platform.ts";

/**
 * A way to reach PicoClaw: LINE, Slack, Telegram, the web, a terminal. In: the channel checks who writes and calls `receive`;
 * once that resolves, the message is stored and the channel may acknowledge it. Out: `deliver` is called once per stored
 * reply, and again after a failure or a restart, always with the same `key`. A channel keeps no state that must survive a restart.
 */
export interface Channel {
  /** `line`, `slack`, `web`, `cli`: the first half of a session's key. */
  readonly name: string;
  /** Whether users read its replies in the store: such a reply counts as delivered once it is stored, and is not sent. */
  readonly isReadFromStore?: boolean;
  /**
   * Sends one reply. Never rejects; it ends within a minute or by the signal. The same `key` may be passed again: a service with
   * idempotency keys receives it, so that the reader sees the reply once.
   */
  deliver(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult>;
  /** Whether a reply arrived whose process died while sending; `unknown` counts as no. Absent: the service recognises duplicates by key. */
  wasDelivered?(delivery: Delivery, signal: AbortSignal): Promise<boolean | "unknown">;
  /** Typing marks, streamed text. At the channel's own pace; never throws. */
  progress?(message: StoredMessage, event: ChatEvent): void;
  /** Fetches a message's file by its `remote`; a file over `limitBytes` may be cut anywhere after that. Never rejects. Absent: no files. */
  download?(remote: string, limitBytes: number, signal: AbortSignal): Promise<DownloadResult>;
  /** Whether the service can be reached, for `/readyz`. Never rejects. */
  check(signal: AbortSignal): Promise<ChannelCheck>;
  /** Releases the channel's resources; nothing is delivered afterwards. */
  close(): Promise<void>;
}

/** Everything in it is kept until the message is answered, so it carries no secret. */
export interface InboundMessage
  extends Pick<
    IncomingMessage,
    "channel" | "chatId" | "userId" | "text" | "forcedRoute" | "strict" | "traceparent"
  > {
  /** The service's own id of this event. Events with the same id are one message. */
  readonly eventId: string;
  readonly attachments?: readonly Attachment[];
  /** Data that the channel needs to answer: a reply token, a thread. Plain JSON, handed back in `Delivery`. */
  readonly replyTo?: Readonly<Record<string, unknown>>;
}

/** In `replyTo`: a person wrote in the console, in a chat of another channel, and reads the answer there. */
export const IN_THE_CONSOLE = { via: "web" } as const;

/** The models read text and see images; of other files they learn name and size only. */
export interface Attachment {
  readonly name: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly text?: string;
  /** A longer text in the store: a list of messages does not read it. */
  readonly storedText?: StoredText;
  readonly image?: string;
  /** An image's bytes, on arrival only: the receiver stores them and keeps the id. */
  readonly bytes?: Uint8Array;
  /** The service's own name of an image that it stores; `Channel.download` fetches it when the message is answered. */
  readonly remote?: string;
}

export type DownloadResult =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly reason: string };

/** Rejects only when it could not be stored: then it must not be acknowledged, so that the service sends it again. */
export type Receive = (message: InboundMessage) => Promise<ReceiveResult>;

export type ReceiveResult =
  | { readonly status: "accepted"; readonly messageId: string }
  /** It is stored already; acknowledge it and do nothing else. */
  | { readonly status: "duplicate"; readonly messageId: string }
  | {
      readonly status: "refused";
      readonly reason: "stranger" | "too-many" | "too-long";
      /** For the user, in their language: how to get access, or when to try again. Empty: no answer is sent. */
      readonly text: string;
    };

export interface StoredMessage extends InboundMessage {
  /** `msg_<unix>_<8 characters>`; the group of the jobs that it causes. */
  readonly id: string;
  /** The workspace it was sent to, as the store names it. */
  readonly workspace: string;
  readonly receivedAt: string;
  readonly state: MessageState;
  /** How many attempts to answer it were begun. */
  readonly attempts: number;
}

export type MessageState = "received" | "working" | "done";

export interface Delivery extends ChatKey {
  /** A UUID that stays the same however often this reply is sent. */
  readonly key: string;
  readonly userId: string;
  readonly messageId?: string;
  readonly content: Outgoing;
  readonly replyTo?: Readonly<Record<string, unknown>>;
  /** When the answered message arrived; reply tokens age from then on. */
  readonly since: string;
  readonly attempt: number;
}

/** An answer, or an unrequested message (a schedule, a task that ended). */
export type Outgoing =
  | { readonly kind: "reply"; readonly reply: Reply }
  | { readonly kind: "notice"; readonly text: string };

export type DeliveryResult =
  | { readonly status: "sent" }
  /** Rate limits, 5xx, no answer, no network: the reply is sent again, not before `afterMs`. */
  | { readonly status: "later"; readonly reason: string; readonly afterMs?: number }
  /** It can never be delivered: the user blocked us, the chat is gone. */
  | { readonly status: "impossible"; readonly reason: string };

type ChannelCheck =
  | { readonly ok: true; readonly detail: string }
  | { readonly ok: false; readonly detail: string; readonly remedy?: string };

/**
 * Work that outlives its process: messages to answer, replies to send, tasks, orders. `Within` is the store's own transaction, so
 * that the changes of a piece of work and its end are written together or not at all.
 *
 * Work of one key is done one at a time and in the order it was added, also when it is begun again. A claim belongs to one process.
 * It ends with `finish`, with `handBack`, or because the process died: it has not called `beat` for `DEAD_AFTER_MS` by the
 * database's clock (time in which the checking process could not reach the store does not count), or is known to be gone from this
 * machine. A process that lost a claim can no longer change anything under it.
 */
export interface WorkQueue<Within = unknown> {
  /** Adds work, in its order. With `within` it is there once that transaction is. */
  add(work: readonly NewWork[], within?: Within): Promise<void>;
  /** The next work that may begin, with the value that `read` finds or notes in the same transaction; null when there is none. */
  claim<T>(
    request: ClaimRequest,
    read: (work: Work, within: Within) => Promise<T>,
  ): Promise<ClaimedWork<T> | null>;
  /** Whether work of this queue waits to be claimed, at the price of one look. */
  waitsIn(queue: string): Promise<boolean>;
  /** Adds work and claims it in one step. Null, with nothing added, if other work of its key is before it. */
  begin<T>(work: NewWork, read: (work: Work, within: Within) => Promise<T>): Promise<ClaimedWork<T> | null>;
  /**
   * Ends work, with `write` and `add` in the same transaction. `lost`: it belongs to another or was ended; nothing was written. Rejects
   * when the store fails: then nothing is known, and the call may be repeated.
   */
  finish(work: Work, end: WorkEnd<Within>): Promise<"done" | "lost">;
  /** Gives work back, to be claimed again at once. Unless it had `begun`, the attempt does not count. May be repeated. */
  handBack(
    work: Work,
    options: { readonly begun: boolean; readonly write?: (within: Within) => Promise<unknown> },
  ): Promise<"done" | "lost">;
  /**
   * Reports that this process lives, every `BEAT_MS`, and releases work of dead processes and work that this one claimed unknowingly.
   * Resolves to the claimed work that was lost.
   */
  beat(): Promise<readonly Work[]>;
  /**
   * Calls back within a second of work being added anywhere; the result ends that. A caller that names a queue is not called for
   * others alone; one that does not know its queues yet names their `kind`, the first part of their names.
   */
  onWork(listener: () => void, of?: WorkSource): () => void;
  /** Work that was given up, newest first. */
  dead(limit: number): Promise<readonly DeadWork[]>;
  /** Moves given up work to the end of its key, as if it were new; false if there is none with that id. */
  retryDead(id: string): Promise<boolean>;
  discardDead(id: string): Promise<boolean>;
  /** Ends the listening. Claimed work must have been ended before. */
  close(): Promise<void>;
}

export interface WorkSource {
  readonly queue?: string;
  readonly kind?: string;
}

export interface NewWork {
  /** A UUIDv7. */
  readonly id: string;
  /** Decides who may claim it: the kind of work and the place it belongs to. Letters, digits, `.`, `-`, `_`. */
  readonly queue: string;
  /** The unit that is done in order: a chat in a workspace. */
  readonly key: string;
  /** The owner of the work. Claims can leave out owners with enough claimed work. */
  readonly group: string;
  /** The subject, an id: the queue keeps no text. */
  readonly ref: string;
  /** It needs no lane: a command that asks no model. It is claimed before other work. */
  readonly light: boolean;
}

export interface Work extends NewWork {
  /** How often it was begun, including this time. */
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
  /** This piece of work, if it waits and nothing of its key is before it. */
  readonly id?: string;
}

interface WorkEnd<Within> {
  readonly add?: readonly NewWork[];
  readonly write?: (within: Within) => Promise<unknown>;
  /** Wakes the listeners of this name, who wait for this end. */
  readonly wake?: string;
  /** Why the work is given up; it is kept as failed work. */
  readonly dead?: string;
}

export interface DeadWork extends Omit<Work, "fence"> {
  readonly reason: string;
  readonly at: Date;
}

/**
 * Inbox and outbox of one workspace. Data for which `addAll` and `finish` resolve survives the process. Several processes may share
 * a store: a message or a reply belongs to the one that claimed its work. A message is claimed, answered and shown only in the
 * workspace it was sent to, and waits while no process serves that.
 */
export interface MessageStore {
  /** Stores messages in one transaction, in order, without events seen before; none when `onlyIf`, asked within it, says no. */
  addAll(
    messages: readonly NewMessage[],
    onlyIf?: (within: unknown) => Promise<boolean>,
  ): Promise<readonly { readonly added: boolean; readonly id: string }[]>;
  /** The next message that may be answered, now claimed; null when there is none. */
  claimMessage(request: MessageRequest): Promise<ClaimedMessage | null>;
  /** Notes that a message has caused a job, before anything of the job is applied. */
  noteJob(job: OwnedJob): Promise<void>;
  jobsOf(messageId: string): Promise<string[]>;
  /** Ends a message and stores its replies, both or neither; `lost`: another has it. May be repeated. `dead`: why it was given up. */
  finish(
    work: Work,
    end: { readonly replies: readonly NewReply[]; readonly dead?: string },
  ): Promise<"done" | "lost">;
  /** Unless it had `begun`, this attempt does not count. */
  handBack(work: Work, options: { readonly begun: boolean }): Promise<"done" | "lost">;
  /** Puts an unrequested reply into the outbox, unless `onlyIf`, asked within that transaction, says no. */
  post(reply: NewReply, onlyIf?: (within: unknown) => Promise<boolean>): Promise<void>;
  /** The next reply, claimed and marked as being sent; null when there is none. With `away`, of a workspace whose machine is away. */
  claimReply(away?: AwayReplies): Promise<{ readonly work: Work; readonly reply: ClaimedReply } | null>;
  endReply(
    work: Work,
    end: { readonly state: "sent" | "failed"; readonly at: string; readonly reason: string | null },
  ): Promise<"done" | "lost">;
  /** A claimed reply is not being sent: it has certainly not arrived, and waits until that time. */
  restReply(key: string, until: string, reason: string): Promise<void>;
  resendReply(key: string): Promise<void>;
  handBackReply(work: Work): Promise<"done" | "lost">;
  /** Of these chats the messages that are not answered yet, and the newest of each. */
  standing(chats: readonly ChatKey[]): Promise<readonly StandingMessage[]>;
  /** Oldest first; the newest `limit`. */
  transcript(filter: {
    readonly channel: string;
    readonly chatId: string;
    readonly limit: number;
    /** Only messages before this id. */
    readonly before?: string;
  }): Promise<Exchange[]>;
  /** By their last message, newest first. */
  chats(filter: {
    readonly channel?: string;
    readonly userId?: string;
    readonly limit: number;
  }): Promise<Chat[]>;
  message(id: string): Promise<StoredMessage | null>;
  repliesTo(messageId: string): Promise<Exchange["replies"]>;
  /** Newest first. */
  jobIdsOf(user: { readonly channel: string; readonly userId: string }, limit: number): Promise<string[]>;
  ownerOf(jobId: string): Promise<OwnedJob | null>;
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

type MessageRequest = Pick<ClaimRequest, "lightOnly" | "notGroups">;

export interface ClaimedMessage {
  readonly work: Work;
  readonly message: StoredMessage;
}

export interface ChatKey {
  readonly channel: string;
  readonly chatId: string;
}

interface OwnedJob {
  readonly jobId: string;
  readonly channel: string;
  readonly userId: string;
  readonly messageId: string | null;
  readonly at: string;
}

export interface NewReply
  extends Pick<Delivery, "key" | "channel" | "chatId" | "userId" | "content" | "replyTo" | "since"> {
  readonly messageId: string | null;
  readonly at: string;
  /** It is stored as sent. */
  readonly hasArrived?: boolean;
  /** The day it counts for, as the session's time zone has it: `2026-03-01`. */
  readonly day?: string;
}

export interface AwayReplies {
  readonly workspace: string;
  /** No channel here reaches these. */
  readonly except: readonly { readonly channel: string; readonly userId: string }[];
}

export interface ClaimedReply extends Delivery {
  /** It was being sent when its process died: it may have arrived. */
  readonly mayHaveArrived: boolean;
  readonly createdAt: string;
  /** It was not marked as being sent: it waits until then. */
  readonly restsUntil: string | null;
}

export interface StandingMessage extends ChatKey {
  readonly id: string;
  readonly state: MessageState;
}

/** A message and its replies; an unsolicited reply belongs to the message before it. */
export interface Exchange {
  readonly message: StoredMessage;
  readonly replies: readonly {
    readonly content: Outgoing;
    readonly at: string;
    readonly state: ReplyState;
  }[];
}

export type ReplyState = "waiting" | "sending" | "sent" | "failed";

export interface Chat extends ChatKey {
  readonly userId: string;
  readonly messages: number;
  readonly lastAt: string;
  /** Its first message: its title. */
  readonly firstText: string;
}

/** Counts only unfinished work: finished work grows without bound, and every metrics request would count it. */
export interface StoreCounts {
  readonly received: number;
  readonly working: number;
  readonly waitingReplies: number;
  readonly failedReplies: number;
}

/** When the schedules of one workspace are due, for all processes that share the store, by the database's clock. */
export interface ScheduleStore {
  /** The database's time, and what is known of each schedule by its name. */
  times(): Promise<{ readonly now: Date; readonly known: ReadonlyMap<string, DueSchedule> }>;
  /** Sets when a schedule is due next, unless another process did since `was` (null: it was not known). */
  set(name: string, was: DueSchedule | null, next: DueSchedule): Promise<boolean>;
  /** The same, and the message that is due is stored with it, both or neither. Null if it was not set. */
  fire(
    name: string,
    was: DueSchedule,
    next: DueSchedule,
    message: NewMessage,
  ): Promise<{ readonly id: string } | null>;
  /** Those that were made in chats and are not paused. */
  made(): Promise<readonly Schedule[]>;
}

export interface Schedule {
  readonly name: string;
  /** Five fields, or six with seconds first. */
  readonly cron: string;
  readonly timezone: string;
  /** `<channel>:<chatId>`. */
  readonly chat: string;
  /** Whose chat it is; default: the chat's own name. */
  readonly user?: string | undefined;
  /** The id of the token by which it was made, if by one. */
  readonly token?: string | undefined;
  readonly message: string;
}

export interface DueSchedule {
  /** The expression and its zone: if they change, the time is computed again. */
  readonly rule: string;
  readonly at: Date;
}

/** Secrets are kept only as their SHA-256; each is 256 random bits, so that needs no salt. */
export interface AccessStore {
  // People of LINE, Slack and the web.
  person(channel: string, userId: string): Promise<Person | null>;
  people(): Promise<Person[]>;
  savePerson(person: Person): Promise<void>;
  removePerson(channel: string, userId: string): Promise<boolean>;
  // Pairing: a stranger gets a code, an operator confirms it.
  savePairing(pairing: Pairing): Promise<void>;
  pairings(now: string): Promise<Pairing[]>;
  /** The pairing of this person; null if none is valid. */
  pairingOf(channel: string, userId: string, now: string): Promise<Pairing | null>;
  /** Removes it; null when there is none or it is too old. */
  takePairing(code: string, now: string): Promise<Pairing | null>;
  // Login links and browser sessions of the console.
  saveLink(link: LoginLink): Promise<void>;
  /** Succeeds only once, even for concurrent calls. */
  takeLink(hash: string, now: string): Promise<LoginLink | null>;
  saveSession(session: WebSession): Promise<void>;
  session(hash: string, now: string): Promise<WebSession | null>;
  /** Newest first. */
  sessions(now: string): Promise<WebSession[]>;
  removeSession(hash: string): Promise<void>;
  // Tokens of programs.
  saveToken(token: ApiToken): Promise<void>;
  tokens(): Promise<ApiToken[]>;
  token(hash: string): Promise<ApiToken | null>;
  touchToken(id: string, at: string): Promise<void>;
  removeToken(id: string): Promise<boolean>;
  /** Forgets expired links, sessions and pairings. */
  prune(now: string): Promise<void>;
}

/** Operators see and do everything; users see only their own messages and jobs. */
export type Role = "operator" | "user";

export interface Person {
  readonly channel: string;
  readonly userId: string;
  readonly name: string;
  readonly role: Role;
  readonly addedAt: string;
}

export interface Pairing extends ChatKey {
  readonly code: string;
  readonly userId: string;
  readonly name: string;
  readonly expiresAt: string;
}

interface LoginLink {
  readonly hash: string;
  readonly userId: string;
  readonly role: Role;
  readonly expiresAt: string;
}

export interface WebSession extends LoginLink {
  /** Every change must carry it. */
  readonly csrf: string;
  readonly createdAt: string;
}

export const SCOPES = ["read", "chat", "jobs", "mcp"] as const;
/** `read`: look; `chat`: send messages; `jobs`: apply, undo, redo, stop; `mcp`: the tools at /mcp. */
export type Scope = (typeof SCOPES)[number];

export interface ApiToken {
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  readonly userId: string;
  readonly role: Role;
  readonly scopes: readonly Scope[];
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

/** The data that the store keeps for a while, each kind for the configured time. */
export const KEPT_KINDS = ["messages", "sessions", "usage", "tasks", "dead_letters"] as const;

export type KeptKind = (typeof KEPT_KINDS)[number];

export interface RetentionStore {
  /** True for exactly one process per interval, by the database's clock. */
  takeTurn(everyMs: number): Promise<boolean>;
  /** Forgets at most `limit` items that ended before that time, with their data, in one transaction, never live ones. Returns how many. */
  forget(kind: KeptKind, before: Date, limit: number): Promise<number>;
}

/** Messages that a service counts and charges, by calendar month (`2026-11`). Kept over restarts. */
export interface PushCounter {
  used(channel: string, month: string): Promise<number>;
  add(channel: string, month: string, count: number): Promise<void>;
}

export interface HealthLine {
  readonly name: string;
  readonly required: boolean;
  readonly ok: boolean;
  readonly detail: string;
  readonly remedy?: string;
  /** It does not work because it is not set up, and it is not needed. */
  readonly off?: boolean;
}

export interface HealthReport {
  /** Whether every required part works. */
  readonly ready: boolean;
  readonly checks: readonly HealthLine[];
}
