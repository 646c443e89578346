import type { Channel, Delivered } from "../ports/channel.ts";
import type { Reply } from "../ports/conversation.ts";
import type { ChatKey, ClaimedReply, MessageStore } from "../ports/message-store.ts";
import type { Timers } from "../ports/timers.ts";
import type { Bus } from "./bus.ts";
import { createLanes } from "./chat-lanes.ts";
import { leaseUntil } from "./lease.ts";

export interface SendParts {
  readonly store: MessageStore;
  readonly channel: (name: string) => Pick<Channel, "deliver" | "wasDelivered"> | undefined;
  /** A reply as it is to be read now: what became of its jobs since it was stored is asked here. */
  readonly present: (reply: Reply) => Reply;
  readonly bus: Bus;
  readonly owner: string;
  readonly timers: Timers;
  /** Between 0 and 1. */
  readonly chance: () => number;
  readonly onTrouble: (error: unknown) => void;
}

export interface Sending {
  /** A reply waits in this chat. */
  sendWaiting(chat: ChatKey): void;
  start(): Promise<void>;
  stop(graceMs: number): Promise<void>;
}

const DELIVERY_MS = 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** Nobody waits for an answer longer than that. */
const GIVE_UP_MS = 24 * 3_600_000;
const SENDERS = 32;

/**
 * Sends what the outbox holds, one chat in order. A reply is marked before it is sent and after; one that was marked
 * when its process died goes out again under the same key, unless the channel knows that it arrived.
 */
export function createSending(parts: SendParts): Sending {
  const { store, owner, timers } = parts;
  const stopping = new AbortController();
  const alarms = new Map<string, () => void>();
  const closed = { now: false };

  const lanes = createLanes(SENDERS, async (chat) => {
    try {
      for (;;) {
        if (closed.now) return;
        const claimed = await store.claimReply(chat, leaseUntil(owner, timers.now()));
        if (claimed === null) return;
        if ("notBefore" in claimed) return alarm(chat, claimed.notBefore);
        await settle(claimed, await send(claimed));
      }
    } catch (error) {
      parts.onTrouble(error);
      alarm(chat, new Date(timers.now().getTime() + LONGEST_WAIT_MS).toISOString());
    }
  });

  async function send(reply: ClaimedReply): Promise<Delivered> {
    const channel = parts.channel(reply.channel);
    if (channel === undefined)
      return { status: "later", reason: `no channel ${reply.channel}`, afterMs: LONGEST_WAIT_MS };
    const limit = new AbortController();
    const abort = () => limit.abort();
    const cancel = timers.after(DELIVERY_MS, abort);
    stopping.signal.addEventListener("abort", abort, { once: true });
    try {
      const now = present(reply);
      if (reply.mayHaveArrived && (await channel.wasDelivered?.(now, limit.signal)) === true)
        return { status: "sent" };
      return await channel.deliver(now, limit.signal);
    } catch (error) {
      // A channel must not throw; if one does, its reply is not lost for it.
      parts.onTrouble(error);
      return { status: "later", reason: String(error) };
    } finally {
      cancel();
      stopping.signal.removeEventListener("abort", abort);
    }
  }

  function present(reply: ClaimedReply): ClaimedReply {
    const { content } = reply;
    if (content.kind !== "reply") return reply;
    return { ...reply, content: { kind: "reply", reply: parts.present(content.reply) } };
  }

  async function settle(reply: ClaimedReply, delivered: Delivered): Promise<void> {
    const now = timers.now();
    const at = now.toISOString();
    parts.bus.publish({ type: "delivered", channel: reply.channel, ok: delivered.status === "sent" });
    if (delivered.status === "sent") return store.markSent(reply.key, at);
    if (delivered.status === "impossible") return store.giveUp(reply.key, at, delivered.reason);
    if (now.getTime() - Date.parse(reply.createdAt) > GIVE_UP_MS)
      return store.giveUp(reply.key, at, delivered.reason);
    const wait = Math.max(backoffMs(reply.attempt, parts.chance()), delivered.afterMs ?? 0);
    await store.retryAt(reply.key, new Date(now.getTime() + wait).toISOString(), delivered.reason);
  }

  function alarm(chat: ChatKey, notBefore: string): void {
    if (closed.now) return;
    const key = JSON.stringify([chat.channel, chat.chatId]);
    alarms.get(key)?.();
    const wait = Math.max(1, Date.parse(notBefore) - timers.now().getTime());
    alarms.set(
      key,
      timers.after(wait, () => {
        alarms.delete(key);
        lanes.wake(chat);
      }),
    );
  }

  return {
    sendWaiting: (chat) => lanes.wake(chat),
    async start() {
      for (const chat of await store.replyChats()) lanes.wake(chat);
    },
    async stop(graceMs) {
      closed.now = true;
      lanes.close();
      for (const cancel of alarms.values()) cancel();
      const late = timers.after(graceMs, () => stopping.abort());
      await lanes.idle();
      late();
    },
  };
}

/** 1 s, 2 s, 4 s … one minute, each up to a fifth more or less, so that many do not come back at once. */
export function backoffMs(attempt: number, chance: number): number {
  const plain = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 10));
  return Math.round(plain * (0.8 + 0.4 * chance));
}
