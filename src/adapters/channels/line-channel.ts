import { HTTPFetchError, type messagingApi, validateSignature, type webhook } from "@line/bot-sdk";
import type { JobAction } from "../../application/jobs/action-report.ts";
import { giveWay } from "../../application/platform/give-way.ts";
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
import { toErrorText } from "../../domain/platform/error-text.ts";
import { isServiceId, type JsonObject, parseEvent, readObject } from "../../domain/platform/json-members.ts";
import type { ChannelMessages } from "../../domain/texts/channels.ts";
import { splitText } from "../../domain/texts/format-text.ts";
import { actionsIn, mapMarkdown } from "./channel-message.ts";
import {
  answerEvent,
  callService,
  downloadFile,
  type FileAddress,
  type NotDelivered,
  remember,
} from "./service-call.ts";

type LineClient = Pick<
  messagingApi.MessagingApiClient,
  "replyMessage" | "pushMessage" | "showLoadingAnimation" | "getBotInfo"
>;

const callLine = (call: () => Promise<unknown>, signal = AbortSignal.timeout(CALL_MS)) =>
  callService(call, signal, toDelivered);

function toDelivered(error: unknown): NotDelivered {
  if (!(error instanceof HTTPFetchError)) return { status: "later", reason: `LINE: ${toErrorText(error)}` };
  const { status, body, headers } = error;
  const reason = `LINE answered ${status}: ${body.slice(0, 200)}`;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  if (status === 429) return { status: "later", reason, ...(seconds > 0 && { afterMs: seconds * 1000 }) };
  return { status: status >= 500 || isTokenRefused(error) ? "later" : "impossible", reason };
}

/** A token is refused when it is too old, or was used before. */
function isTokenRefused(error: unknown): boolean {
  return error instanceof HTTPFetchError && error.status === 400 && /reply token/i.test(error.body);
}

/** LINE's own limits. */
const TEXT_UNITS = 5000;
const MESSAGES_AT_ONCE = 5;
const QUICK_REPLIES = 13;
const LABEL_UNITS = 20;
const DATA_UNITS = 300;

const COLLECT = "picoclaw:collect";

interface LineWording {
  readonly texts: ChannelMessages;
  /** The address at which the console shows a job; null if others cannot reach the console. */
  readonly jobUrl: (jobId: string) => string | null;
}

/** A reply as LINE shows it: plain text in pieces, differences cut short, buttons under the last piece. */
function toLineMessages(content: Outgoing, wording: LineWording): messagingApi.TextMessage[] {
  const text = content.kind === "notice" ? content.text : content.reply.text;
  const job = content.kind === "reply" ? content.reply.jobs.at(-1) : undefined;
  const link = job === undefined ? null : wording.jobUrl(job.job_id);
  // Long differences are left out of the plain text, so more of the text is read than can be shown.
  const head = text.slice(0, 4 * TEXT_UNITS * (MESSAGES_AT_ONCE + 1));
  const pieces = splitText(toPlainText(head) || "…", TEXT_UNITS);
  const kept = pieces.slice(0, MESSAGES_AT_ONCE);
  if (pieces.length > MESSAGES_AT_ONCE || head.length < text.length) {
    const last = kept.pop() ?? "";
    const more =
      link === null ? wording.texts.cutHere : `${wording.texts.cutHere}\n${wording.texts.seeConsole(link)}`;
    kept.push(`${last.slice(0, TEXT_UNITS - more.length - 1).toWellFormed()}\n${more}`);
  }
  const buttons = actionsIn(content).map(toQuickReply);
  return kept.map((piece, i) => ({
    type: "text",
    text: piece,
    ...(i === kept.length - 1 &&
      buttons.length > 0 && { quickReply: { items: buttons.slice(0, QUICK_REPLIES) } }),
  }));
}

/** The message that spends a reply token before it runs out. */
function interimMessage(texts: ChannelMessages): messagingApi.TextMessage {
  return {
    type: "text",
    text: texts.stillWorking,
    quickReply: { items: [toQuickReply({ label: texts.collect, message: COLLECT })] },
  };
}

function toQuickReply({ label, message }: Pick<JobAction, "label" | "message">): messagingApi.QuickReplyItem {
  const [shown, data] = [label.slice(0, LABEL_UNITS), message.slice(0, DATA_UNITS)];
  return { type: "action", action: { type: "postback", label: shown, data, displayText: label } };
}

const DIFF_LINES = 12;

/** LINE shows no Markdown: marks are removed, code stays, a long difference is cut at its end. */
function toPlainText(text: string): string {
  const plain = mapMarkdown(text, {
    prose: (words) => words.replace(/^#{1,6} +/gm, ""),
    span: (code) => code,
    block(code, language) {
      const lines = code.trimEnd().split("\n");
      const isCut = language === "diff" && lines.length > DIFF_LINES;
      return (isCut ? [...lines.slice(0, DIFF_LINES), "…"] : lines).join("\n");
    },
  });
  // Bold words may hold code.
  return plain
    .replace(/\*\*([^*\n]+)\*\*/g, "$1")
    .replace(/`([^`\n]+)`/g, "$1")
    .trim();
}

/** A token is valid for about a minute; this leaves a margin. */
const TOKEN_MS = 50_000;
/** The age at which a token is spent on an interim message, unless it was used before. */
const INTERIM_MS = 40_000;

interface KeptToken {
  readonly at: number;
  readonly spare: boolean;
  readonly cancel: () => void;
}

/** In memory: a token that belongs to a message is also stored with its reply, a spare one is lost in a restart. */
function createReplyTokens(timers: Timers, onAge: (chatId: string, token: string) => void) {
  const chats = new Map<string, Map<string, KeptToken>>();
  /** The token is being used, or was: its age no longer matters. */
  const drop = (chatId: string, token: string): void => {
    const tokens = chats.get(chatId);
    tokens?.get(token)?.cancel();
    tokens?.delete(token);
    if (tokens?.size === 0) chats.delete(chatId);
  };
  return {
    /** `spare`: it belongs to no message. Only a chat's newest is passed to `onAge`: one interim message serves all that wait. */
    keep(
      chatId: string,
      token: string,
      { at: sentAt, spare }: { readonly at: number; readonly spare: boolean },
    ): void {
      drop(chatId, token);
      // A clock ahead of ours makes no token younger than new.
      const at = Math.min(sentAt, timers.now().getTime());
      const left = at + INTERIM_MS - timers.now().getTime();
      if (left <= 0) return;
      const cancel = timers.after(left, () => {
        const isNewest = [...(chats.get(chatId)?.keys() ?? [])].at(-1) === token;
        drop(chatId, token);
        if (isNewest) onAge(chatId, token);
      });
      const tokens = chats.get(chatId) ?? new Map<string, KeptToken>();
      chats.set(chatId, tokens.set(token, { at, spare, cancel }));
    },
    drop,
    /** Takes out the newest valid token: one that belongs to no message, or any. */
    take(chatId: string, which: "spare" | "any"): string | null {
      const found = [...(chats.get(chatId) ?? [])].findLast(([, { spare }]) => spare || which === "any");
      if (found === undefined) return null;
      const [token, { at }] = found;
      drop(chatId, token);
      return timers.now().getTime() - at < TOKEN_MS ? token : null;
    },
    close(): void {
      for (const [chatId, tokens] of [...chats]) for (const token of [...tokens.keys()]) drop(chatId, token);
    },
  };
}

export interface LineChannelDeps {
  readonly client: LineClient;
  /** The address from which files of messages are fetched. */
  readonly content: FileAddress;
  readonly counter: PushCounter;
  /** Pushes in a month. */
  readonly quota: () => number;
  readonly wording: () => LineWording;
  readonly timers: Timers;
}

export interface LineChannel extends Channel {
  /** An event of this chat had a token. `single`: a chat with one person, where a loading mark can be shown. */
  keepToken(event: {
    readonly chatId: string;
    readonly replyToken: string;
    readonly at: number;
    readonly single: boolean;
    /** The token belongs to no message that will be answered: any answer may use it. */
    readonly spare?: boolean;
  }): void;
  /** Sends a text at once, with the token of the event that it answers. */
  answer(replyToken: string, text: string): Promise<void>;
}

const CALL_MS = 15_000;
const LOADING_SECONDS = 60;
/** Between an event's arrival and the time that is stored with it. */
const CALL_MARGIN_MS = 2_000;
const NO_WAY_MS = 15 * 60_000;

/** A reply needs a token that lives a minute, a push is counted: an interim message with a button fetches a fresh token. */
export function createLineChannel(deps: LineChannelDeps): LineChannel {
  const { client, counter, timers } = deps;
  const tokens = createReplyTokens(timers, (chatId, token) => {
    const sent = reply(token, [interimMessage(deps.wording().texts)]).finally(() => {
      if (interims.get(chatId) === sent) interims.delete(chatId);
    });
    interims.set(chatId, sent);
  });
  /** Tokens that were given to LINE by this process. */
  const spent = new Set<string>();
  /** Those of them whose call had no answer: the reply may have arrived. */
  const doubtful = new Set<string>();
  /** Interim messages being sent, by chat: an answer waits for them, so that it is last. */
  const interims = new Map<string, Promise<unknown>>();
  /** Replies that LINE has accepted from this process. */
  const taken = new Set<string>();
  const reply = (replyToken: string, messages: ReturnType<typeof toLineMessages>, signal?: AbortSignal) => {
    remember(spent, replyToken, REMEMBERED);
    return callLine(() => client.replyMessage({ replyToken, messages }), signal);
  };
  const month = () => timers.now().toISOString().slice(0, 7);

  /** If no push is left, an answer is sent with the next message, by that message's token. */
  const mayPush = async () => (await counter.used("line", month())) < deps.quota();

  async function push(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult> {
    const used = await counter.used("line", month());
    const { texts } = deps.wording();
    if (used >= deps.quota())
      return { status: "later", reason: texts.quotaSpent(deps.quota()), afterMs: NO_WAY_MS };
    const messages = toLineMessages(delivery.content, deps.wording());
    const send = () => client.pushMessage({ to: delivery.chatId, messages }, delivery.key);
    const pushed = await callLine(send, signal);
    if (pushed.ok) await counter.add("line", month(), 1);
    // 409: this retry key was accepted before.
    const isKnown = !pushed.ok && pushed.error instanceof HTTPFetchError && pushed.error.status === 409;
    return pushed.ok || isKnown ? { status: "sent" } : pushed.delivered;
  }

  return {
    name: "line",
    keepToken({ chatId, replyToken, at, single, spare = false }) {
      // The answer may be ready before its event was stored.
      if (!spent.has(replyToken)) tokens.keep(chatId, replyToken, { at, spare });
      if (single)
        void callLine(() => client.showLoadingAnimation({ chatId, loadingSeconds: LOADING_SECONDS }));
    },
    download: (remote, limitBytes, signal) => {
      const path = `v2/bot/message/${encodeURIComponent(remote)}/content`;
      const url = `${deps.content.url.replace(/\/+$/, "")}/${path}`;
      return downloadFile({ ...deps.content, url }, limitBytes, signal);
    },
    async answer(replyToken, text) {
      await reply(replyToken, toLineMessages({ kind: "notice", text }, deps.wording()));
    },
    async deliver(delivery, signal) {
      if (taken.has(delivery.key)) return { status: "sent" };
      await interims.get(delivery.chatId);
      const limit = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
      // Each answer has its own token, so a spent token shows that this answer was sent, and not another.
      const own = ownToken(delivery, timers, TOKEN_MS, spent);
      const token = own ?? tokens.take(delivery.chatId, (await mayPush()) ? "spare" : "any");
      if (token === null) return push(delivery, limit);
      tokens.drop(delivery.chatId, token);
      const outcome = await reply(token, toLineMessages(delivery.content, deps.wording()), limit);
      if (outcome.ok) {
        remember(taken, delivery.key, REMEMBERED);
        return { status: "sent" };
      }
      // A token that was refused after a call without an answer was spent by that very call.
      if (isTokenRefused(outcome.error))
        return doubtful.has(token) ? { status: "sent" } : push(delivery, limit);
      if (!(outcome.error instanceof HTTPFetchError) || outcome.error.status >= 500) {
        spent.delete(token);
        remember(doubtful, token, REMEMBERED);
      }
      return outcome.delivered;
    },
    async wasDelivered(delivery, signal) {
      if (taken.has(delivery.key)) return true;
      // Later it may have been spent on an interim message.
      const token = ownToken(delivery, timers, INTERIM_MS - CALL_MARGIN_MS, spent);
      if (token === null) return "unknown";
      // A token that is young and refused was spent by this very reply, before the process died.
      const outcome = await reply(token, toLineMessages(delivery.content, deps.wording()), signal);
      return outcome.ok || isTokenRefused(outcome.error) ? true : "unknown";
    },
    async check(signal) {
      const outcome = await callLine(() => client.getBotInfo(), signal);
      const used = await counter.used("line", month());
      if (outcome.ok) return { ok: true, detail: `push ${used}/${deps.quota()}` };
      return { ok: false, detail: outcome.delivered.reason, remedy: "LINE_CHANNEL_ACCESS_TOKEN" };
    },
    async close() {
      tokens.close();
    },
  };
}

/** The token of the message that is answered, if it is younger than that and this process did not use it. */
function ownToken(
  delivery: Delivery,
  timers: Timers,
  youngMs: number,
  spent: ReadonlySet<string>,
): string | null {
  const token = delivery.replyTo?.replyToken;
  const age = timers.now().getTime() - Date.parse(delivery.since);
  return typeof token === "string" && age < youngMs && !spent.has(token) ? token : null;
}

const REMEMBERED = 10_000;

export interface LineWebhookDeps {
  readonly secret: string;
  readonly channel: LineChannel;
  readonly receive: Receive;
  readonly forcedRoute: () => Route | null;
  readonly strict: () => boolean;
  /** Called for a stored event whose reply waits. */
  readonly sendWaiting: (chatId: string) => void;
  readonly onTrouble: (error: unknown) => void;
}

export const LIMIT_BYTES = 1024 ** 2;

/** Events of one request that are stored at once; other work runs between two batches. */
const TAKEN_AT_ONCE = 20;

/** The signature covers the received bytes. Every event of a genuine request is stored before the 200. */
export function createLineWebhook(deps: LineWebhookDeps): (request: Request) => Promise<Response> {
  return async (request) => {
    const bytes = Buffer.from(await request.arrayBuffer());
    const signature = request.headers.get("x-line-signature") ?? "";
    if (!validateSignature(bytes, deps.secret, signature)) return new Response(null, { status: 401 });
    const events = eventsIn(bytes);
    if (events === null) return new Response(null, { status: 400 });
    return answerEvent(async () => {
      for (let at = 0; at < events.length; at += TAKEN_AT_ONCE) {
        if (at > 0) await giveWay();
        await Promise.all(events.slice(at, at + TAKEN_AT_ONCE).map((event) => takeEvent(deps, event)));
      }
    }, deps.onTrouble);
  };
}

async function takeEvent(deps: LineWebhookDeps, event: webhook.Event): Promise<void> {
  const place = readLineSource(event);
  if (place === null) return;
  const { chatId, userId, single, replyToken } = place;
  if (event.type === "postback" && event.postback.data === COLLECT) {
    // A fresh token for waiting replies; without one it is used like any other.
    deps.channel.keepToken({ chatId, replyToken, at: event.timestamp, single, spare: true });
    deps.sendWaiting(chatId);
    return;
  }
  const content = readContent(event, single);
  if (content === null) return;
  const forcedRoute = deps.forcedRoute();
  const received = await deps.receive({
    channel: "line",
    eventId: event.webhookEventId,
    chatId,
    userId,
    ...content,
    ...(forcedRoute !== null && { forcedRoute, strict: deps.strict() }),
    replyTo: { replyToken },
  });
  if (received.status === "refused") {
    if (received.text !== "") await deps.channel.answer(replyToken, received.text);
  } else deps.channel.keepToken({ chatId, replyToken, at: event.timestamp, single });
}

interface LineSource {
  readonly chatId: string;
  readonly userId: string;
  readonly single: boolean;
  readonly replyToken: string;
}

/** The chat of an event; null for events that need no answer. */
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

/** Everything in a one-to-one chat; in a group, only mentions of the bot and commands. */
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
      (each) => readObject(each).type === "user" && "isSelf" in each && each.isSelf === true,
    );
    if (own !== undefined)
      return { text: `${text.slice(0, own.index)}${text.slice(own.index + own.length)}`.trim() };
    return single || text.trimStart().startsWith("/") ? { text } : null;
  }
  if (message.type === "image" && single) {
    const { id, contentProvider } = message as webhook.ImageMessageContent;
    // An image at another host was sent by another bot, which chose the address.
    if (contentProvider?.type !== "line") return null;
    const image = { name: `${id}.jpg`, mediaType: "image/jpeg", sizeBytes: 0, remote: id };
    return { text: "", attachments: [image] };
  }
  if (message.type === "file" && single) {
    const { fileName, fileSize } = message as webhook.FileMessageContent;
    const file = { name: fileName, mediaType: "application/octet-stream", sizeBytes: fileSize };
    return { text: "", attachments: [file] };
  }
  return null;
}

function eventsIn(bytes: Buffer): readonly webhook.Event[] | null {
  const { events } = (parseEvent(bytes.toString("utf8")) ?? {}) as { events?: unknown };
  return Array.isArray(events) && !events.some(hasControlCharacters) ? events.filter(isEvent) : null;
}

/** LINE's ids contain no control characters, and no database accepts all of them: such a request is not from LINE. */
function hasControlCharacters(event: unknown): boolean {
  const { webhookEventId, replyToken, source } = readObject(event);
  const { userId, groupId, roomId } = readObject(source);
  return [webhookEventId, replyToken, userId, groupId, roomId].some(
    (id) => typeof id === "string" && /[\x00-\x1f\x7f]/.test(id),
  );
}

/** An event that LINE does not document must not prevent the other events of its request from being stored. */
function isEvent(event: unknown): event is webhook.Event {
  const { type, webhookEventId, replyToken, timestamp, source, message, postback } = readObject(event);
  if (typeof type !== "string" || !isServiceId(webhookEventId)) return false;
  if (type !== "message" && type !== "postback") return true;
  if (typeof timestamp !== "number" || !isSource(readObject(source))) return false;
  if (replyToken !== undefined && !isServiceId(replyToken)) return false;
  return type === "postback"
    ? typeof readObject(postback).data === "string"
    : isMessageContent(readObject(message));
}

function isSource({ type, userId, groupId, roomId }: JsonObject): boolean {
  if (!isServiceId(userId)) return false;
  return (type !== "group" || isServiceId(groupId)) && (type !== "room" || isServiceId(roomId));
}

function isMessageContent({ type, id, text, mention, fileName, fileSize }: JsonObject): boolean {
  const mentionees = readObject(mention).mentionees ?? [];
  const isMention = (each: unknown) => {
    const { isSelf, index, length } = readObject(each);
    return isSelf !== true || (typeof index === "number" && typeof length === "number");
  };
  switch (type) {
    case "text":
      return typeof text === "string" && Array.isArray(mentionees) && mentionees.every(isMention);
    case "image":
      return isServiceId(id);
    case "file":
      return typeof fileName === "string" && typeof fileSize === "number";
    default:
      return typeof type === "string";
  }
}
