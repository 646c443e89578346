import type { Channel, Delivery, DeliveryResult } from "../../application/ports/channel.ts";
import type { PushCounter } from "../../application/ports/push-counter.ts";
import type { Timers } from "../../application/ports/timers.ts";
import { callLine, type LineClient, type LineOutcome } from "./line-client.ts";
import { interimMessage, type LineWording, toLineMessages } from "./line-messages.ts";
import { createReplyTokens, TOKEN_MS } from "./reply-tokens.ts";

export interface LineChannelDeps {
  readonly client: LineClient;
  readonly counter: PushCounter;
  /** Pushes in a month. */
  readonly quota: () => number;
  readonly wording: () => LineWording;
  readonly timers: Timers;
}

export interface LineChannel extends Channel {
  /** An event of this chat came with a token. `single`: a chat with one person, where a loading mark can be shown. */
  keepToken(event: {
    readonly chatId: string;
    readonly replyToken: string;
    readonly at: number;
    readonly single: boolean;
  }): void;
  /** Says something at once, by the token of the event it answers. */
  answer(replyToken: string, text: string): Promise<void>;
  pushes(): Promise<{ readonly used: number; readonly quota: number }>;
}

const CALL_MS = 15_000;
const LOADING_SECONDS = 60;
const NO_WAY_MS = 15 * 60_000;

/**
 * LINE: replies are free but need a token that lives a minute; pushes are counted. So a token is spent on the answer
 * when that comes in time, else on a message with a button that brings a fresh one; a push is the last resort.
 */
export function createLineChannel(parts: LineChannelDeps): LineChannel {
  const { client, counter, timers } = parts;
  const tokens = createReplyTokens(timers);
  /** Tokens that were given to LINE by this process. */
  const spent = new Set<string>();
  /** Those of them whose call had no answer: what was sent may have arrived. */
  const doubtful = new Set<string>();
  /** Interim messages on their way, by chat: an answer waits for them, so that it comes last. */
  const interims = new Map<string, Promise<unknown>>();
  /** Replies that LINE has taken from this process. */
  const taken = new Set<string>();
  const call = (request: () => Promise<unknown>, signal = AbortSignal.timeout(CALL_MS)) =>
    callLine(request, signal);
  const reply = (replyToken: string, messages: ReturnType<typeof toLineMessages>, signal?: AbortSignal) => {
    remember(spent, replyToken);
    return call(() => client.replyMessage({ replyToken, messages }), signal);
  };
  const month = () => timers.now().toISOString().slice(0, 7);

  async function push(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult> {
    const used = await counter.used("line", month());
    const { texts } = parts.wording();
    if (used >= parts.quota())
      return { status: "later", reason: texts.quotaSpent(parts.quota()), afterMs: NO_WAY_MS };
    const messages = toLineMessages(delivery.content, parts.wording());
    const outcome = await call(
      () => client.pushMessage({ to: delivery.chatId, messages }, delivery.key),
      signal,
    );
    if (outcome.ok) await counter.add("line", month(), 1);
    return toDelivered(outcome);
  }

  return {
    name: "line",
    keepToken({ chatId, replyToken, at, single }) {
      tokens.keep(chatId, replyToken, at, (token) => {
        const sent = reply(token, [interimMessage(parts.wording().texts)]).finally(() => {
          if (interims.get(chatId) === sent) interims.delete(chatId);
        });
        interims.set(chatId, sent);
      });
      if (single) void call(() => client.showLoadingAnimation({ chatId, loadingSeconds: LOADING_SECONDS }));
    },
    async answer(replyToken, text) {
      await reply(replyToken, toLineMessages({ kind: "notice", text }, parts.wording()));
    },
    async deliver(delivery, signal) {
      if (taken.has(delivery.key)) return { status: "sent" };
      await interims.get(delivery.chatId);
      const limit = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
      const token = tokens.take(delivery.chatId) ?? storedToken(delivery, timers, spent);
      if (token === null) return push(delivery, limit);
      const outcome = await reply(token, toLineMessages(delivery.content, parts.wording()), limit);
      if (outcome.ok) {
        remember(taken, delivery.key);
        return { status: "sent" };
      }
      // A token that was refused after a call without an answer was spent by that very call.
      if (outcome.kind === "bad-token")
        return doubtful.has(token) ? { status: "sent" } : push(delivery, limit);
      if (outcome.kind === "unreachable") {
        spent.delete(token);
        remember(doubtful, token);
      }
      return toDelivered(outcome);
    },
    async wasDelivered(delivery, signal) {
      if (taken.has(delivery.key)) return true;
      const token = storedToken(delivery, timers, spent);
      if (token === null) return "unknown";
      // A token that is young and refused was spent by this very reply, before the process died.
      const outcome = await reply(token, toLineMessages(delivery.content, parts.wording()), signal);
      return outcome.ok || outcome.kind === "bad-token" ? true : "unknown";
    },
    async check(signal) {
      const outcome = await call(() => client.getBotInfo(), signal);
      const used = await counter.used("line", month());
      if (outcome.ok) return { ok: true, detail: `push ${used}/${parts.quota()}` };
      return { ok: false, detail: outcome.reason, remedy: "LINE_CHANNEL_ACCESS_TOKEN" };
    },
    pushes: async () => ({ used: await counter.used("line", month()), quota: parts.quota() }),
    async close() {
      tokens.close();
    },
  };
}

/** The token that is kept with the reply, if it is young and this process did not use it. */
function storedToken(delivery: Delivery, timers: Timers, spent: ReadonlySet<string>): string | null {
  const token = delivery.replyTo?.token;
  const age = timers.now().getTime() - Date.parse(delivery.since);
  return typeof token === "string" && age < TOKEN_MS && !spent.has(token) ? token : null;
}

function toDelivered(outcome: LineOutcome): DeliveryResult {
  if (outcome.ok || outcome.kind === "known") return { status: "sent" };
  const { kind, reason, afterMs } = outcome;
  if (kind === "refused") return { status: "impossible", reason };
  return { status: "later", reason, ...(afterMs !== undefined && { afterMs }) };
}

const REMEMBERED = 10_000;

function remember(set: Set<string>, token: string): void {
  set.add(token);
  if (set.size > REMEMBERED) set.delete(set.values().next().value as string);
}
