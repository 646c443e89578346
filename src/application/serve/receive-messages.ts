import { newJobId } from "../../domain/jobs/result.ts";
import { isStoreAway } from "../../domain/store/store-trouble.ts";
import type { ServeMessages } from "../../domain/texts/serve.ts";
import { type Conversation, chatKeyOf, type ImageStore } from "../ports/chat.ts";
import type { Tracing } from "../ports/platform.ts";
import {
  type Attachment,
  type ChatKey,
  IN_THE_CONSOLE,
  type InboundMessage,
  type MessageStore,
  type NewMessage,
  type ReceiveResult,
} from "../ports/serve.ts";
import type { Bus } from "./serve-events.ts";

export interface ReceiveMessagesDeps {
  readonly store: Pick<MessageStore, "addAll">;
  readonly images: () => Pick<ImageStore, "keep" | "keepText">;
  /** Decides who may speak here and how often; null admits the message. */
  readonly admit: (message: InboundMessage) => Promise<Extract<ReceiveResult, { status: "refused" }> | null>;
  readonly workspace: string;
  readonly bus: Bus;
  /** Whether a message waits for its turn and needs a lane. */
  readonly wayOf: (message: ArrivedMessage) => MessageLane;
  readonly tracing: Pick<Tracing, "begin"> | null;
  readonly now: () => Date;
  readonly random: (bytes: number) => Uint8Array;
}

export interface ArrivedMessage extends ChatKey, Pick<InboundMessage, "text" | "attachments"> {}

export type MessageLane = Pick<NewMessage, "beside" | "light">;

/** A command that steers the running message must not wait behind it; one that needs no model, not for a lane. */
export function chooseMessageLane(
  conversation: Pick<Conversation, "interrupts" | "needsNoModel">,
  message: ArrivedMessage,
): MessageLane {
  const images = (message.attachments ?? []).filter(isImage).map(({ name }) => ({ id: "", name }));
  const beside = conversation.interrupts({ ...message, images });
  return { beside, light: beside || conversation.needsNoModel(message.text) };
}

export function isImage({ image, bytes, remote }: Attachment): boolean {
  return image !== undefined || bytes !== undefined || remote !== undefined;
}

interface WaitingMessage extends NewMessage {
  readonly resolve: (result: ReceiveResult) => void;
  readonly reject: (error: unknown) => void;
}

/** More than this in one transaction, and the first of them would wait too long. */
const BATCH = 200;
const [BURST, BURST_MS] = [16, 200];

/** While one transaction is written, messages are collected for the next: a burst costs few, a single one waits for none. */
export function createReceiver(deps: ReceiveMessagesDeps) {
  const arrivals: number[] = [];
  const waiting: WaitingMessage[] = [];
  const writing = { now: false };

  async function write(): Promise<void> {
    writing.now = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH);
      // A batch that cannot be stored is tried one by one: one bad event is refused, not all that arrived with it.
      if (!(await stored(batch))) for (const one of batch) await stored([one]);
    }
    writing.now = false;
  }

  /** False where each message of the batch has to be tried alone. */
  async function stored(batch: readonly WaitingMessage[]): Promise<boolean> {
    try {
      const results = await deps.store.addAll(batch);
      for (const [n, one] of batch.entries()) settle(one, results[n] as (typeof results)[number]);
      return true;
    } catch (error) {
      // Where the store is at fault, each of them would wait as long again.
      if (batch.length > 1 && !isStoreAway(error)) return false;
      for (const { span, reject } of batch) {
        span?.end({ error: "not stored" });
        reject(error);
      }
      return true;
    }
  }

  function settle(one: WaitingMessage, { added, id }: { added: boolean; id: string }): void {
    one.resolve({ status: added ? "accepted" : "duplicate", messageId: id });
    if (added) announce(one);
  }

  function announce({ message, id, at, span }: NewMessage): void {
    span?.end();
    const { workspace } = deps;
    const stored = { ...message, id, workspace, receivedAt: at, state: "received", attempts: 0 } as const;
    deps.bus.publish({ type: "received", message: stored });
  }

  /** A message that needs no admission, as the store takes it. */
  function prepare(message: InboundMessage): NewMessage {
    return prepareFrom(message, deps.now());
  }

  function prepareFrom(message: InboundMessage, arrived: Date): NewMessage {
    const now = deps.now();
    // `msg_<unix seconds>_<8 characters>`: the same shape as a job's.
    const id = newJobId(now, deps.random).replace(/^job/, "msg");
    const prepared = { message, id, at: now.toISOString(), ...deps.wayOf(message) };
    if (deps.tracing === null) return prepared;
    const { channel, traceparent: parent } = message;
    const facts = { "picoclaw.message_id": id, channel };
    const span = deps.tracing.begin("receive", { parent, at: arrived, kind: "server", facts });
    // The process that answers it continues this trace, on whichever machine.
    return { ...prepared, message: { ...message, traceparent: span.traceparent }, span };
  }

  async function receive(message: InboundMessage): Promise<ReceiveResult> {
    const arrived = deps.now();
    arrivals.push(arrived.getTime());
    if (arrivals.length > BURST) arrivals.shift();
    const refused = await deps.admit(message);
    if (refused !== null) return refused;
    const light = await moveFiles(message);
    return new Promise((resolve, reject) => {
      waiting.push({ ...prepareFrom(light, arrived), resolve, reject });
      if (!writing.now) void write();
    });
  }

  /** Images and long texts go to tables of their own: the message only names them. */
  async function moveFiles(message: InboundMessage): Promise<InboundMessage> {
    const isLarge = ({ bytes, text }: Attachment) => bytes !== undefined || isLongText(text);
    if (message.attachments?.some(isLarge) !== true) return message;
    const key = chatKeyOf(message.channel, message.chatId);
    const attachments: Attachment[] = [];
    for (const file of message.attachments) {
      const { bytes, text, ...rest } = file;
      if (isLongText(text))
        attachments.push({ ...rest, storedText: await deps.images().keepText(key, text) });
      else if (bytes === undefined) attachments.push(file);
      else {
        const kept = await deps.images().keep(key, [{ name: rest.name, bytes }]);
        attachments.push(kept.ok ? { ...rest, image: kept.images[0]?.id ?? "" } : rest);
      }
    }
    return { ...message, attachments };
  }

  return {
    receive,
    prepare,
    announce,
    /** Whether messages come so fast that answering should wait for a moment: who sends them waits for us. */
    isBusy: () => arrivals.length === BURST && deps.now().getTime() - (arrivals[0] as number) < BURST_MS,
  };
}

/** Characters. Shorter ones are stored with their message. */
const LONG_TEXT = 8_192;

function isLongText(text: string | undefined): text is string {
  return text !== undefined && text.length > LONG_TEXT;
}

type AdmissionRefusal = Extract<ReceiveResult, { status: "refused" }>;

export interface AdmissionDeps {
  readonly isKnown: (channel: string, userId: string) => Promise<boolean>;
  readonly messages: () => ServeMessages;
  /** Messages of one user in a minute; 0 is any number. */
  readonly perMinute: () => number;
  readonly now: () => Date;
  /** The answer to a stranger: how to get access. */
  readonly greet: (message: InboundMessage) => Promise<string>;
}

const MOST_CHARACTERS = 100_000;
const MINUTE_MS = 60_000;
const MOST_USERS = 10_000;

export function createAdmission(
  deps: AdmissionDeps,
): (message: InboundMessage) => Promise<AdmissionRefusal | null> {
  /** The arrival times of each user's last messages, in the order of the users' last one. */
  const recent = new Map<string, number[]>();

  function tooMany(message: InboundMessage): boolean {
    const limit = deps.perMinute();
    if (limit === 0) return false;
    const key = `${message.channel}:${message.userId}`;
    const now = deps.now().getTime();
    const times = (recent.get(key) ?? []).filter((at) => at > now - MINUTE_MS);
    if (times.length >= limit) return true;
    recent.delete(key);
    recent.set(key, [...times, now]);
    if (recent.size > MOST_USERS) recent.delete(recent.keys().next().value as string);
    return false;
  }

  return async (message) => {
    const refuse = (reason: AdmissionRefusal["reason"], text: string): AdmissionRefusal => ({
      status: "refused",
      reason,
      text,
    });
    const words = deps.messages();
    if (message.text.length > MOST_CHARACTERS) return refuse("too-long", words.tooLong(MOST_CHARACTERS));
    if (!(await deps.isKnown(message.channel, message.userId)))
      // Past the limit no answer is sent: each answer to a stranger costs a row, a call and perhaps a push.
      return tooMany(message) ? refuse("too-many", "") : refuse("stranger", await deps.greet(message));
    return tooMany(message) ? refuse("too-many", words.tooMany) : null;
  };
}

export function replyChannelOf({ channel, replyTo }: Pick<InboundMessage, "channel" | "replyTo">): string {
  return replyTo?.via === IN_THE_CONSOLE.via ? IN_THE_CONSOLE.via : channel;
}
