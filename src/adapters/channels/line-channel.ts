import { HTTPFetchError, type messagingApi, validateSignature, type webhook } from "@line/bot-sdk";
import type { Route } from "../../application/ports/chat.ts";
import type { Timers } from "../../application/ports/platform.ts";
import type {
  Channel,
  Delivery,
  DeliveryResult,
  InboundMessage,
  Outgoing,
  PushCounter,
  Receive,
} from "../../application/ports/serve.ts";
import type { LineMessages } from "../../domain/texts/channels.ts";
import { splitText } from "../../domain/texts/format-text.ts";
import { inTime } from "./in-time.ts";

/** The calls that the channel makes, of the official client. */
type LineClient = Pick<
  messagingApi.MessagingApiClient,
  "replyMessage" | "pushMessage" | "showLoadingAnimation" | "getBotInfo"
>;

type LineOutcome =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly kind: "bad-token" | "known" | "limited" | "refused" | "unreachable";
      readonly reason: string;
      readonly afterMs?: number;
    };

/** Makes a call end within a time and its errors values: the client itself knows neither. */
async function callLine(call: () => Promise<unknown>, signal: AbortSignal): Promise<LineOutcome> {
  try {
    await inTime(call(), signal, "LINE did not answer in time");
    return { ok: true };
  } catch (error) {
    if (!(error instanceof HTTPFetchError))
      return {
        ok: false,
        kind: "unreachable",
        reason: error instanceof Error ? error.message : String(error),
      };
    const { status, body, headers } = error;
    const reason = `LINE answered ${status}: ${body.slice(0, 200)}`;
    // 409: this retry key was accepted before.
    if (status === 409) return { ok: false, kind: "known", reason };
    if (status === 429) {
      const seconds = Number(headers.get("retry-after") ?? Number.NaN);
      return { ok: false, kind: "limited", reason, ...(seconds > 0 && { afterMs: seconds * 1000 }) };
    }
    if (status >= 500) return { ok: false, kind: "unreachable", reason };
    if (status === 400 && /reply token/i.test(body)) return { ok: false, kind: "bad-token", reason };
    return { ok: false, kind: "refused", reason };
  }
}

/** LINE's own limits. */
const TEXT_UNITS = 5000;
const MESSAGES_AT_ONCE = 5;
const QUICK_REPLIES = 13;
const LABEL_UNITS = 20;
const DATA_UNITS = 300;

const COLLECT = "picoclaw:collect";

interface LineWording {
  readonly texts: LineMessages;
  /** Where the console shows a job; null when it has no address that others reach. */
  readonly jobUrl: (jobId: string) => string | null;
}

/** A reply as LINE shows it: plain text in pieces, differences cut short, buttons under the last piece. */
function toLineMessages(content: Outgoing, wording: LineWording): messagingApi.TextMessage[] {
  const text = content.kind === "notice" ? content.text : content.reply.text;
  const job = content.kind === "reply" ? content.reply.jobs.at(-1) : undefined;
  const link = job === undefined ? null : wording.jobUrl(job.job_id);
  const pieces = splitText(toPlainText(text) || "…", TEXT_UNITS);
  const kept = pieces.slice(0, MESSAGES_AT_ONCE);
  if (pieces.length > MESSAGES_AT_ONCE) {
    const last = kept.pop() ?? "";
    const more =
      link === null ? wording.texts.cutHere : `${wording.texts.cutHere}\n${wording.texts.seeConsole(link)}`;
    kept.push(`${last.slice(0, TEXT_UNITS - more.length - 1).toWellFormed()}\n${more}`);
  }
  const buttons = content.kind === "reply" ? content.reply.actions.map(toQuickReply) : [];
  return kept.map((piece, i) => ({
    type: "text",
    text: piece,
    ...(i === kept.length - 1 &&
      buttons.length > 0 && { quickReply: { items: buttons.slice(0, QUICK_REPLIES) } }),
  }));
}

/** The message that spends a reply token before it runs out. */
function interimMessage(texts: LineMessages): messagingApi.TextMessage {
  return {
    type: "text",
    text: texts.stillWorking,
    quickReply: { items: [toQuickReply({ label: texts.collect, message: COLLECT })] },
  };
}

function toQuickReply({
  label,
  message,
}: {
  readonly label: string;
  readonly message: string;
}): messagingApi.QuickReplyItem {
  return {
    type: "action",
    action: {
      type: "postback",
      label: label.slice(0, LABEL_UNITS),
      data: message.slice(0, DATA_UNITS),
      displayText: label,
    },
  };
}

const DIFF_LINES = 12;

/** LINE shows no Markdown: marks go, code stays, a long difference keeps its beginning. */
function toPlainText(text: string): string {
  return text
    .replace(/^(`{3,}|~{3,})(\w*)\n([\s\S]*?)^\1 *$/gm, (_, _fence, language: string, body: string) => {
      const lines = body.trimEnd().split("\n");
      if (language !== "diff" || lines.length <= DIFF_LINES) return body.trimEnd();
      return `${lines.slice(0, DIFF_LINES).join("\n")}\n…`;
    })
    .replace(/^#{1,6} +/gm, "")
    .replace(/\*\*([^*\n]+)\*\*/g, "$1")
    .replace(/`([^`\n]+)`/g, "$1")
    .trim();
}

/** A token is good for about a minute; what is left of it after this is not relied on. */
const TOKEN_MS = 50_000;
/** When a token is spent on an interim message, if nothing else came. */
const INTERIM_MS = 40_000;

interface ReplyTokens {
  /** A token came with an event. `onAge` is called before it runs out, unless it was taken. */
  keep(chatId: string, token: string, at: number, onAge: (token: string) => void): void;
  /** The newest token of a chat that is still good; it is taken out. */
  take(chatId: string): string | null;
  close(): void;
}

/** Tokens in memory only: a restart loses them, and a reply is then pushed. */
function createReplyTokens(timers: Timers): ReplyTokens {
  const tokens = new Map<
    string,
    { readonly token: string; readonly at: number; readonly cancel: () => void }
  >();
  const drop = (chatId: string) => {
    tokens.get(chatId)?.cancel();
    tokens.delete(chatId);
  };
  return {
    keep(chatId, token, told, onAge) {
      drop(chatId);
      // A clock ahead of ours makes no token younger than new.
      const at = Math.min(told, timers.now().getTime());
      const left = at + INTERIM_MS - timers.now().getTime();
      if (left <= 0) return;
      const cancel = timers.after(left, () => {
        if (tokens.get(chatId)?.token !== token) return;
        tokens.delete(chatId);
        onAge(token);
      });
      tokens.set(chatId, { token, at, cancel });
    },
    take(chatId) {
      const found = tokens.get(chatId);
      drop(chatId);
      return found !== undefined && timers.now().getTime() - found.at < TOKEN_MS ? found.token : null;
    },
    close() {
      for (const chatId of [...tokens.keys()]) drop(chatId);
    },
  };
}

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

export interface LineWebhookDeps {
  readonly secret: string;
  readonly channel: LineChannel;
  readonly receive: Receive;
  readonly forcedRoute: () => Route | null;
  readonly strict: () => boolean;
  /** A stored event whose reply waits is to be looked at again. */
  readonly sendWaiting: (chatId: string) => void;
  readonly onTrouble: (error: unknown) => void;
}

export const LIMIT_BYTES = 1024 ** 2;

/**
 * The webhook of LINE. The signature is over the bytes as they came; every event of a genuine request is stored before
 * the 200, and what cannot be stored is answered 500, so that LINE sends it again.
 */
export function createLineWebhook(parts: LineWebhookDeps): (request: Request) => Promise<Response> {
  return async (request) => {
    const bytes = Buffer.from(await request.arrayBuffer());
    const signature = request.headers.get("x-line-signature") ?? "";
    if (bytes.length > LIMIT_BYTES) return new Response(null, { status: 413 });
    if (signature === "" || !validateSignature(bytes, parts.secret, signature))
      return new Response(null, { status: 401 });
    const events = eventsIn(bytes);
    if (events === null) return new Response(null, { status: 400 });
    try {
      await Promise.all(events.map((event) => takeEvent(parts, event)));
    } catch (error) {
      parts.onTrouble(error);
      return new Response(null, { status: 500 });
    }
    return new Response(null, { status: 200 });
  };
}

async function takeEvent(parts: LineWebhookDeps, event: webhook.Event): Promise<void> {
  const place = readLineSource(event);
  if (place === null) return;
  const { chatId, userId, single, replyToken } = place;
  if (event.type === "postback" && event.postback.data === COLLECT) {
    // A fresh token, for what waits; where nothing waits yet, it is spent like any other.
    parts.channel.keepToken({ chatId, replyToken, at: event.timestamp, single });
    parts.sendWaiting(chatId);
    return;
  }
  const content = readContent(event, single);
  if (content === null) return;
  const forcedRoute = parts.forcedRoute();
  const received = await parts.receive({
    channel: "line",
    eventId: event.webhookEventId,
    chatId,
    userId,
    ...content,
    ...(forcedRoute !== null && { forcedRoute, strict: parts.strict() }),
    replyTo: { token: replyToken },
  });
  if (received.status === "refused") {
    if (received.text !== "") await parts.channel.answer(replyToken, received.text);
  } else parts.channel.keepToken({ chatId, replyToken, at: event.timestamp, single });
}

interface LineSource {
  readonly chatId: string;
  readonly userId: string;
  readonly single: boolean;
  readonly replyToken: string;
}

/** Where an event belongs; null for those that nobody waits an answer for. */
function readLineSource(event: webhook.Event): LineSource | null {
  if ((event.type !== "message" && event.type !== "postback") || event.mode !== "active") return null;
  const { source, replyToken } = event;
  const userId = source !== undefined && "userId" in source ? source.userId : undefined;
  if (userId === undefined || replyToken === undefined) return null;
  switch (source?.type) {
    case "user":
      return { chatId: userId, userId, single: true, replyToken };
    case "group":
      return { chatId: (source as webhook.GroupSource).groupId, userId, single: false, replyToken };
    case "room":
      return { chatId: (source as webhook.RoomSource).roomId, userId, single: false, replyToken };
    default:
      return null;
  }
}

/** What was content to us: everything in a chat for two, among several only what names us or is a command. */
function readContent(
  event: webhook.Event,
  single: boolean,
): Pick<InboundMessage, "text" | "attachments"> | null {
  if (event.type === "postback") return { text: event.postback.data };
  if (event.type !== "message") return null;
  const { message } = event;
  if (message.type === "text") {
    const { text, mention } = message as webhook.TextMessageContent;
    const own = mention?.mentionees?.find(
      (each) => each.type === "user" && "isSelf" in each && each.isSelf === true,
    );
    if (own !== undefined)
      return { text: `${text.slice(0, own.index)}${text.slice(own.index + own.length)}`.trim() };
    return single || text.trimStart().startsWith("/") ? { text } : null;
  }
  if (message.type === "file" && single) {
    const { fileName, fileSize } = message as webhook.FileMessageContent;
    const file = { name: fileName, mediaType: "application/octet-stream", sizeBytes: fileSize };
    return { text: "", attachments: [file] };
  }
  return null;
}

function eventsIn(bytes: Buffer): readonly webhook.Event[] | null {
  try {
    const { events } = JSON.parse(bytes.toString("utf8")) as { events?: unknown };
    return Array.isArray(events) ? events.filter(isEvent) : null;
  } catch {
    return null;
  }
}

/** One event of another shape than LINE describes must not keep the others of its request from being taken. */
function isEvent(event: unknown): event is webhook.Event {
  const text = (from: unknown, ...path: string[]) =>
    typeof path.reduce((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], from) ===
    "string";
  if (!text(event, "type") || !text(event, "webhookEventId")) return false;
  const { type, message } = event as { type: string; message?: { type?: unknown } | null };
  if (type === "postback") return text(event, "postback", "data") && text(event, "source", "userId");
  if (type !== "message") return true;
  if (!text(event, "source", "userId") || !text(message, "type")) return false;
  return message?.type !== "text" || text(message, "text");
}
