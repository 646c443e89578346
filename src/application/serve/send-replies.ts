import { toErrorText } from "../../domain/platform/error-text.ts";
import { mapTexts } from "../../domain/platform/json-members.ts";
import type { Reply } from "../ports/chat.ts";
import type { Timers } from "../ports/platform.ts";
import type {
  AwayReplies,
  Channel,
  ChatKey,
  ClaimedReply,
  DeliveryResult,
  MessageStore,
  Work,
} from "../ports/serve.ts";
import { replyChannelOf } from "./receive-messages.ts";
import type { Bus } from "./serve-events.ts";
import { createWorkTaker, type Lane, pause, type WorkKeeper } from "./take-work.ts";

export interface SendRepliesDeps {
  readonly store: MessageStore;
  readonly channel: (name: string) => Pick<Channel, "deliver" | "wasDelivered"> | undefined;
  /** A reply with the current state of its jobs, which may have changed since it was stored. */
  readonly present: (reply: Reply) => Reply | Promise<Reply>;
  /** Every part of a reply passes through it before it is sent: texts, names of files, commands of buttons. */
  readonly mask: (text: string) => string;
  /** Workspaces whose replies are sent here because their machine is away. */
  readonly away?: () => readonly AwayReplies[];
  readonly bus: Bus;
  readonly keeper: Pick<WorkKeeper, "hold" | "drop" | "end">;
  readonly timers: Timers;
  /** Between 0 and 1. */
  readonly chance: () => number;
  readonly onTrouble: (error: unknown) => void;
}

interface ReplyWork {
  readonly work: Work;
  readonly reply: ClaimedReply;
}

const DELIVERY_MS = 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** No user waits for an answer longer than that. */
const GIVE_UP_MS = 24 * 3_600_000;
const SENDERS = 32;

/**
 * Sends the replies of the outbox, those of one chat in order. A reply is marked before it is sent and after; one that was marked
 * when its process died is sent again under the same key, unless the channel knows that it arrived.
 */
export function createReplySender(deps: SendRepliesDeps) {
  const { store, keeper, timers } = deps;
  const stopping = new AbortController();
  /** Ends the rest of the reply that this chat waits for. */
  const resting = new Map<string, AbortController>();
  const closed = { now: false };
  const taking = createWorkTaker<ReplyWork>({
    claim,
    run: bringOut,
    limit: SENDERS,
    perGroup: SENDERS,
    timers,
    onTrouble: deps.onTrouble,
  });

  async function claim(): Promise<ReplyWork | null> {
    const own = await store.claimReply();
    if (own !== null) return own;
    for (const workspace of deps.away?.() ?? []) {
      const claimed = await store.claimReply(workspace);
      if (claimed !== null) return claimed;
    }
    return null;
  }

  /** A reply stays claimed until it is sent or given up, so that no other reply of its chat overtakes it. */
  async function bringOut({ work, reply }: ReplyWork, lane: Lane): Promise<void> {
    const lost = keeper.hold(work);
    try {
      let next = reply;
      let until = reply.restsUntil;
      for (;;) {
        if (until !== null) {
          await rest(next, until, lane, lost);
          if (lost.aborted) return;
          if (closed.now) return void (await keeper.end(() => store.handBackReply(work)));
          await keeper.end(() => store.resendReply(reply.key));
        }
        const begun = timers.now().getTime();
        const delivered = await send(next);
        tell(next, delivered, timers.now().getTime() - begun);
        until = await settle(work, next, delivered);
        if (until === null || lost.aborted) return;
        next = { ...next, attempt: next.attempt + 1, mayHaveArrived: false };
      }
    } finally {
      keeper.drop(work);
    }
  }

  async function rest(chat: ChatKey, until: string, lane: Lane, lost: AbortSignal): Promise<void> {
    const ms = Date.parse(until) - timers.now().getTime();
    if (ms <= 0 || closed.now) return;
    const key = chatKeyText(chat);
    const woken = new AbortController();
    resting.set(key, woken);
    await lane.rest(pause(timers, ms, AbortSignal.any([woken.signal, lost])));
    resting.delete(key);
  }

  async function send(reply: ClaimedReply): Promise<DeliveryResult> {
    const channel = deps.channel(replyChannelOf(reply));
    if (channel === undefined)
      return { status: "later", reason: `no channel ${reply.channel}`, afterMs: LONGEST_WAIT_MS };
    const limit = new AbortController();
    const cancel = timers.after(DELIVERY_MS, () => limit.abort());
    const signal = AbortSignal.any([limit.signal, stopping.signal]);
    try {
      const now = mapTexts(await present(reply), deps.mask);
      if (reply.mayHaveArrived && (await channel.wasDelivered?.(now, signal)) === true)
        return { status: "sent" };
      return await channel.deliver(now, signal);
    } catch (error) {
      // A channel must not throw; if one does, its reply is not lost for it.
      deps.onTrouble(error);
      return { status: "later", reason: toErrorText(error) };
    } finally {
      cancel();
    }
  }

  async function present(reply: ClaimedReply): Promise<ClaimedReply> {
    const { content } = reply;
    if (content.kind !== "reply") return reply;
    return { ...reply, content: { kind: "reply", reply: await deps.present(content.reply) } };
  }

  function tell({ channel, messageId, attempt }: ClaimedReply, { status }: DeliveryResult, ms: number): void {
    const answers = messageId !== undefined && { messageId };
    deps.bus.publish({ type: "delivered", channel, ok: status === "sent", ...answers, attempt, ms });
  }

  /** Null when the reply has ended, else when to try again. */
  async function settle(work: Work, reply: ClaimedReply, delivered: DeliveryResult): Promise<string | null> {
    const now = timers.now();
    const at = now.toISOString();
    const tooOld = now.getTime() - Date.parse(reply.createdAt) > GIVE_UP_MS;
    if (delivered.status !== "later" || tooOld) {
      const end =
        delivered.status === "sent"
          ? ({ state: "sent", at, reason: null } as const)
          : ({ state: "failed", at, reason: delivered.reason } as const);
      await keeper.end(() => store.endReply(work, end));
      return null;
    }
    const wait = Math.max(backoffMs(reply.attempt, deps.chance()), delivered.afterMs ?? 0);
    const until = new Date(now.getTime() + wait).toISOString();
    await keeper.end(() => store.restReply(reply.key, until, delivered.reason));
    return until;
  }

  return {
    look: taking.look,
    /** A reply that rests in this chat is tried now. */
    sendWaiting: (chat: ChatKey) => resting.get(chatKeyText(chat))?.abort(),
    async stop(graceMs: number): Promise<void> {
      closed.now = true;
      taking.close();
      for (const woken of resting.values()) woken.abort();
      const late = timers.after(graceMs, () => stopping.abort());
      await taking.idle();
      late();
    },
  };
}

const chatKeyText = ({ channel, chatId }: ChatKey): string => JSON.stringify([channel, chatId]);

/** 1 s, 2 s, 4 s … one minute, each up to a fifth more or less, so that many do not come back at once. */
export function backoffMs(attempt: number, chance: number): number {
  const plain = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 10));
  return Math.round(plain * (0.8 + 0.4 * chance));
}
