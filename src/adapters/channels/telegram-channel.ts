import { timingSafeEqual } from "node:crypto";
import type { InlineKeyboardButton, InlineKeyboardMarkup, Message, Update } from "grammy/types";
import { Api, GrammyError, InputFile } from "grammy/web";
import type { JobAction } from "../../application/jobs/action-report.ts";
import type { ChatEvent } from "../../application/ports/chat.ts";
import type { Timers } from "../../application/ports/platform.ts";
import type {
  Attachment,
  Channel,
  Delivery,
  DeliveryResult,
  InboundMessage,
  Outgoing,
  Receive,
  StoredMessage,
} from "../../application/ports/serve.ts";
import { pause } from "../../application/serve/take-work.ts";
import { toErrorText } from "../../domain/platform/error-text.ts";
import { MOST_IMAGE_BYTES } from "../../domain/platform/image.ts";
import { isServiceId, type JsonObject, parseEvent, readObject } from "../../domain/platform/json-members.ts";
import type { ChannelMessages } from "../../domain/texts/channels.ts";
import { splitText } from "../../domain/texts/format-text.ts";
import {
  actionsIn,
  addToProgress,
  createStreamedMessage,
  findDiscardedJob,
  mapMarkdown,
  type Progress,
  type StreamedMessage,
} from "./channel-message.ts";
import {
  answerEvent,
  callService,
  downloadFile,
  type NotDelivered,
  remember,
  type ServiceCall,
  type ServiceTrouble,
} from "./service-call.ts";

/** Longer than a poll lasts; every other call has a limit of its own. */
const CALL_SECONDS = 60;

/** `apiUrl`: another address than Telegram's own. Errors never show the token, which is a part of every address. */
export function createTelegramClient(options: { readonly token: string; readonly apiUrl: string | null }) {
  return new Api(options.token, {
    timeoutSeconds: CALL_SECONDS,
    sensitiveLogs: false,
    ...(options.apiUrl !== null && { apiRoot: options.apiUrl.replace(/\/+$/, "") }),
  });
}

type GrammySignal = NonNullable<Parameters<Api["getMe"]>[0]>;

/** The library's types name a shim's signal; at run time it takes the platform's own. */
const grammySignal = (signal: AbortSignal) => signal as unknown as GrammySignal;

const callTelegram = <T>(call: (signal: GrammySignal) => Promise<T>, signal: AbortSignal) =>
  callService(() => call(grammySignal(signal)), signal, toDelivered);

const NEVER =
  /chat not found|user not found|group chat was (?:upgraded|deactivated)|not enough rights|message thread not found/i;

function toDelivered(error: unknown): NotDelivered {
  if (!(error instanceof GrammyError)) return { status: "later", reason: `Telegram: ${toErrorText(error)}` };
  const { error_code: code, description, parameters } = error;
  const reason = `Telegram: ${code} ${description}`;
  if (code === 429) return { status: "later", reason, afterMs: (parameters.retry_after ?? 30) * 1000 };
  // 403: the person blocked the bot, or it was removed from the group.
  if (code === 403 || (code === 400 && NEVER.test(description))) return { status: "impossible", reason };
  return { status: "later", reason };
}

interface TelegramPlace {
  readonly chat: string;
  readonly thread?: number;
  readonly pressed?: number;
}

/** `-100123:7` is a topic of a group, `4711` a person or a whole group. */
function telegramPlaceIn(chatId: string, replyTo: Readonly<Record<string, unknown>> = {}): TelegramPlace {
  const [chat = "", thread] = chatId.split(":");
  const { pressed } = replyTo;
  return {
    chat,
    ...(thread !== undefined && { thread: Number(thread) }),
    ...(typeof pressed === "number" && { pressed }),
  };
}

function chatIdOf({ chat, thread }: { readonly chat: number; readonly thread?: number | undefined }): string {
  return thread === undefined ? String(chat) : `${chat}:${thread}`;
}

function threadOf({ thread }: TelegramPlace) {
  return thread === undefined ? {} : { message_thread_id: thread };
}

/** Converts a reply's Markdown into the few HTML tags that Telegram reads. */
export function toTelegramHtml(text: string): string {
  return mapMarkdown(text, {
    prose: proseToHtml,
    span: (code) => `<code>${escapeHtml(code.slice(1, -1))}</code>`,
    block: (code) => `<pre>${escapeHtml(code)}</pre>`,
  });
}

function proseToHtml(text: string): string {
  return escapeHtml(text)
    .replace(/^#{1,6} +(.+)$/gm, "<b>$1</b>")
    .replace(/\*\*([^*\n]+)\*\*/g, "<b>$1</b>")
    .replace(/\[([^[\]\n]+)\]\((https?:\/\/[^\s)"]{1,2000})\)/g, '<a href="$2">$1</a>')
    .replace(/^([^\S\r\n\u2028\u2029]*)[-*] /gm, "$1• ");
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Telegram's limits: 4,096 characters of a message without its marks, 64 bytes behind a button, 256 to copy. */
const TEXT_UNITS = 4000;
const DATA_BYTES = 64;
const COPIED_UNITS = 256;
const LABEL_UNITS = 40;
const BUTTONS_IN_A_ROW = 2;
const PIECES = 4;

interface TelegramMessage {
  /** Markdown, in the order in which it is sent. */
  readonly pieces: readonly string[];
  readonly keyboard: InlineKeyboardMarkup | null;
  /** The whole text, where it is too long for messages. */
  readonly file: string | null;
}

function toTelegramMessages(content: Outgoing, texts: ChannelMessages): TelegramMessage {
  const text = (content.kind === "notice" ? content.text : content.reply.text).trim() || "…";
  const keyboard = keyboardOf(actionsIn(content));
  const head = text.slice(0, TEXT_UNITS * (PIECES + 2));
  const pieces = splitText(head, TEXT_UNITS);
  if (pieces.length <= PIECES && head.length === text.length) return { pieces, keyboard, file: null };
  return { pieces: [...pieces.slice(0, PIECES - 1), texts.wholeText], keyboard, file: text };
}

/** The actions that are possible now; null if there are none. */
function keyboardOf(actions: readonly JobAction[]): InlineKeyboardMarkup | null {
  const buttons = actions.map(toKeyboardButton).filter((one) => one !== null);
  if (buttons.length === 0) return null;
  const rows: InlineKeyboardButton[][] = [];
  for (let at = 0; at < buttons.length; at += BUTTONS_IN_A_ROW)
    rows.push(buttons.slice(at, at + BUTTONS_IN_A_ROW));
  return { inline_keyboard: rows };
}

/** A message that does not fit behind a button is copied by it; one that is longer still has none. */
function toKeyboardButton({ label, message }: JobAction): InlineKeyboardButton | null {
  const text = label.slice(0, LABEL_UNITS).toWellFormed();
  if (Buffer.byteLength(message) <= DATA_BYTES) return { text, callback_data: message };
  return message.length <= COPIED_UNITS ? { text, copy_text: { text: message } } : null;
}

const CALL_MS = 20_000;
/** Telegram shows "typing" for five seconds. */
const TYPING_MS = 4_500;
/** Faster work needs no message. */
const PATIENCE_MS = 4_000;
/** A group takes twenty messages a minute. */
const PAUSE_MS = 4_000;
const STREAMED_CHARS = 1_500;
const REMEMBERED = 1_000;

interface ShownStatus {
  readonly place: TelegramPlace;
  readonly since: number;
  typingUntil: number;
  message: StreamedMessage | null;
}

/** "Typing", and after a while a silent message. The reply is a message of its own: edits notify no person. */
function createTelegramStatus({ client, texts, timers, describe }: TelegramChannelDeps) {
  const shown = new Map<string, ShownStatus>();
  /** An event after the answer must not begin another status. */
  const answered = new Set<string>();
  const within = () => AbortSignal.timeout(CALL_MS);

  const begin = (place: TelegramPlace): StreamedMessage =>
    createStreamedMessage(
      {
        timers,
        pauseMs: PAUSE_MS,
        async begin() {
          const options = { ...threadOf(place), disable_notification: true };
          const sent = await callTelegram(
            (ends) => client.sendMessage(place.chat, texts().working, options, ends),
            within(),
          );
          return sent.ok ? String(sent.value.message_id) : null;
        },
        update: async (id, progress) =>
          void (await callTelegram(
            (ends) => client.editMessageText(place.chat, Number(id), wordProgress(progress), {}, ends),
            within(),
          )),
      },
      { text: "", note: texts().working },
    );

  return {
    show({ id, chatId }: StoredMessage, event: ChatEvent): void {
      if (answered.has(id)) return;
      const now = timers.now().getTime();
      const place = telegramPlaceIn(chatId);
      const status = shown.get(id) ?? { place, since: now, typingUntil: 0, message: null };
      shown.set(id, status);
      if (status.typingUntil <= now) {
        status.typingUntil = now + TYPING_MS;
        void callTelegram(
          (ends) => client.sendChatAction(place.chat, "typing", threadOf(place), ends),
          within(),
        );
      }
      if (now - status.since < PATIENCE_MS) return;
      status.message ??= begin(place);
      status.message.show((progress) => addToProgress(progress, event, describe));
    },
    /** The answer was sent: the status is removed, and none follows. Never rejects. */
    async end(id: string): Promise<void> {
      remember(answered, id, REMEMBERED);
      const status = shown.get(id);
      shown.delete(id);
      const message = (await status?.message?.close()) ?? null;
      if (status === undefined || message === null) return;
      await callTelegram((ends) => client.deleteMessage(status.place.chat, Number(message), ends), within());
    },
  };
}

function wordProgress({ text, note, steps = "" }: Progress): string {
  const streamed = text.slice(-STREAMED_CHARS).toWellFormed().trim();
  return [streamed, steps, note].filter((part) => part !== "").join("\n\n");
}

export interface TelegramChannelDeps {
  readonly client: Api;
  readonly texts: () => ChannelMessages;
  readonly timers: Timers;
  readonly describe: (event: ChatEvent) => string | null;
  /** The address of a file, by the path that Telegram names; it holds the token. */
  readonly fileUrl: (path: string) => string;
  /** Why polling fails, if it does. */
  readonly pollTrouble: () => ServiceTrouble | null;
  readonly onClose: () => Promise<void>;
}

/** Telegram has no idempotency keys and shows bots no history: only this process knows how much of each reply was sent. */
export function createTelegramChannel(deps: TelegramChannelDeps): Channel {
  const { client, texts, fileUrl, pollTrouble, onClose } = deps;
  const status = createTelegramStatus(deps);
  /** By the key of a reply: how many of its parts arrived. */
  const arrived = new Map<string, number>();
  const limit = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);

  async function sendPiece(
    place: TelegramPlace,
    piece: string,
    keyboard: TelegramMessage["keyboard"],
    signal: AbortSignal,
  ) {
    const options = {
      ...threadOf(place),
      link_preview_options: { is_disabled: true },
      ...(keyboard !== null && { reply_markup: keyboard }),
    };
    const html = { ...options, parse_mode: "HTML" as const };
    const sent = await callTelegram(
      (ends) => client.sendMessage(place.chat, toTelegramHtml(piece), html, ends),
      signal,
    );
    const isUnreadable = (error: unknown) =>
      error instanceof GrammyError && /can't parse entities/i.test(error.description);
    if (sent.ok || !isUnreadable(sent.error)) return sent;
    return callTelegram((ends) => client.sendMessage(place.chat, piece, options, ends), signal);
  }

  /** Updates the buttons of the message whose button was pressed. The answer was already sent, so a failure here is ignored. */
  async function redrawPressed(place: TelegramPlace, { content }: Delivery, signal: AbortSignal) {
    const left = findDiscardedJob(content) === null ? null : { inline_keyboard: [] };
    const keyboard = keyboardOf(actionsIn(content)) ?? left;
    const { pressed } = place;
    if (pressed === undefined || keyboard === null) return;
    const options = { reply_markup: keyboard };
    await callTelegram((ends) => client.editMessageReplyMarkup(place.chat, pressed, options, ends), signal);
  }

  return {
    name: "telegram",
    async download(remote, limitBytes, signal) {
      const found = await callTelegram((ends) => client.getFile(remote, ends), limit(signal));
      if (!found.ok) return { ok: false, reason: found.delivered.reason };
      const { file_path: path } = found.value;
      if (path === undefined) return { ok: false, reason: "Telegram keeps it no longer" };
      return downloadFile({ url: fileUrl(path) }, limitBytes, signal);
    },
    progress: status.show,
    async deliver(delivery, signal): Promise<DeliveryResult> {
      const place = telegramPlaceIn(delivery.chatId, delivery.replyTo);
      const { pieces, keyboard, file } = toTelegramMessages(delivery.content, texts());
      const parts: ((ends: AbortSignal) => Promise<ServiceCall<unknown>>)[] = pieces.map(
        (piece, i) => (ends) => sendPiece(place, piece, i === pieces.length - 1 ? keyboard : null, ends),
      );
      if (file !== null) {
        const whole = new InputFile(Buffer.from(file), "picoclaw.md");
        const options = threadOf(place);
        parts.push((signal) =>
          callTelegram((ends) => client.sendDocument(place.chat, whole, options, ends), signal),
        );
      }
      for (let at = arrived.get(delivery.key) ?? 0; at < parts.length; at++) {
        const sent = await parts[at]?.(limit(signal));
        if (sent !== undefined && !sent.ok) return sent.delivered;
        arrived.set(delivery.key, at + 1);
        if (arrived.size > REMEMBERED) arrived.delete(arrived.keys().next().value as string);
      }
      if (delivery.messageId !== undefined) await status.end(delivery.messageId);
      await redrawPressed(place, delivery, limit(signal));
      return { status: "sent" };
    },
    async wasDelivered({ key, content }) {
      const { pieces, file } = toTelegramMessages(content, texts());
      const at = arrived.get(key);
      return at === undefined ? "unknown" : at >= pieces.length + (file === null ? 0 : 1);
    },
    async check(signal) {
      const asked = await callTelegram((ends) => client.getMe(ends), limit(signal));
      const deaf = pollTrouble();
      if (asked.ok && deaf !== null) return { ok: false, ...deaf };
      if (asked.ok) return { ok: true, detail: `@${asked.value.username}` };
      return { ok: false, detail: asked.delivered.reason, remedy: "TELEGRAM_BOT_TOKEN" };
    },
    close: onClose,
  };
}

const HEARD_UPDATES = ["message", "callback_query"] as const;

const ANSWER_MS = 10_000;

/** Stores an update. Rejects if that failed, so that Telegram sends it again. */
export type TakeUpdate = (update: Update) => Promise<void>;

/** Messages and buttons. In a group, only a message that names the bot, answers it or is a command is for it. */
export function createTelegramUpdates(deps: { readonly client: Api; readonly receive: Receive }): TakeUpdate {
  const { client, receive } = deps;
  let own: Promise<{ readonly id: number; readonly username: string }> | null = null;
  const ownName = () => {
    own ??= client.getMe().catch((error: unknown) => {
      own = null;
      throw error;
    });
    return own;
  };

  async function store(message: Omit<InboundMessage, "channel">): Promise<void> {
    const received = await receive({ channel: "telegram", ...message });
    if (received.status !== "refused" || received.text === "") return;
    const place = telegramPlaceIn(message.chatId);
    await callTelegram(
      (ends) => client.sendMessage(place.chat, received.text, threadOf(place), ends),
      AbortSignal.timeout(ANSWER_MS),
    );
  }

  return async (update) => {
    const { update_id: id, message, callback_query: pressed } = update;
    // Sent again, it would have the same shape, and Telegram sends nothing else until it is accepted.
    if (!isUpdateInShape(update)) return;
    const eventId = `update:${id}`;
    if (pressed?.data !== undefined && pressed.message !== undefined) {
      const { chat, message_id: at } = pressed.message;
      const thread = "date" in pressed.message ? topicOf(pressed.message as Message) : undefined;
      await store({
        eventId,
        chatId: chatIdOf({ chat: chat.id, thread }),
        userId: String(pressed.from.id),
        text: pressed.data,
        replyTo: { pressed: at },
      });
      await callTelegram(
        (ends) => client.answerCallbackQuery(pressed.id, {}, ends),
        AbortSignal.timeout(ANSWER_MS),
      );
      return;
    }
    if (message?.from === undefined || message.from.is_bot) return;
    const attachments = attachedFiles(message);
    const said = message.text ?? message.caption ?? "";
    if (said === "" && attachments.length === 0) return;
    const text = message.chat.type === "private" ? said : textForBot(message, said, await ownName());
    if (text === null) return;
    await store({
      eventId,
      chatId: chatIdOf({ chat: message.chat.id, thread: topicOf(message) }),
      userId: String(message.from.id),
      text: commandOf(text),
      ...(attachments.length > 0 && { attachments }),
    });
  };
}

function isUpdateInShape({ message, callback_query: pressed }: Update): boolean {
  if (pressed !== undefined) {
    const { id, from, data, message: under } = readObject(pressed);
    const isUnder = under === undefined || isPlace(readObject(under));
    return isServiceId(id) && hasId(from) && isAbsentOr("string", data) && isUnder;
  }
  if (message === undefined) return true;
  const { from, text, caption, document, photo = [], ...place } = readObject(message);
  if (!isPlace(place) || (from !== undefined && !hasId(from))) return false;
  if (!isAbsentOr("string", text) || !isAbsentOr("string", caption)) return false;
  return (document === undefined || isFile(document)) && Array.isArray(photo) && photo.every(isFile);
}

function isAbsentOr(type: "string" | "number", value: unknown): boolean {
  return value === undefined || typeof value === type;
}

function isFile(file: unknown): boolean {
  if (typeof file !== "object" || file === null) return false;
  const { file_id: id, file_size: size, file_name: name, mime_type: type } = readObject(file);
  return isAbsentOr("number", size) && [id, name, type].every((text) => isAbsentOr("string", text));
}

function isPlace({
  chat,
  message_id: id,
  is_topic_message: topic,
  message_thread_id: thread,
}: JsonObject): boolean {
  return hasId(chat) && typeof id === "number" && (topic !== true || typeof thread === "number");
}

function hasId(value: unknown): boolean {
  return Number.isSafeInteger(readObject(value).id);
}

/** The text addressed to the bot, without its name; null when it was addressed to others. */
function textForBot(
  { reply_to_message: answered }: Message,
  text: string,
  own: { readonly id: number; readonly username: string },
): string | null {
  const name = new RegExp(`@${own.username}\\b`, "gi");
  const command = /^\/\w+@(\w+)/.exec(text);
  if (command !== null) return command[1]?.toLowerCase() === own.username.toLowerCase() ? text : null;
  if (name.test(text)) return text.replace(name, "").replace(/ {2,}/g, " ").trim();
  return text.startsWith("/") || answered?.from?.id === own.id ? text : null;
}

/** `/undo@our_bot job_…` is `/undo job_…`. Telegram sends `/start` when a person opens the chat. */
function commandOf(text: string): string {
  const bare = text.replace(/^(\/\w+)@\w+/, "$1");
  return bare === "/start" ? "/help" : bare;
}

function topicOf({ is_topic_message: topic, message_thread_id: thread }: Message): number | undefined {
  return topic === true ? thread : undefined;
}

/** Name and size of the attached files; images can be fetched. */
function attachedFiles({ document, photo }: Message): Attachment[] {
  const files: Attachment[] = [];
  if (document !== undefined)
    files.push({
      name: document.file_name ?? "file",
      mediaType: document.mime_type ?? "application/octet-stream",
      sizeBytes: document.file_size ?? 0,
      ...(/^image\/(?!svg)/.test(document.mime_type ?? "") && { remote: document.file_id }),
    });
  // Telegram offers a photo in several sizes, the largest last.
  const best = photo?.findLast(({ file_size: size = 0 }) => size <= MOST_IMAGE_BYTES) ?? photo?.at(-1);
  if (best !== undefined)
    files.push({
      name: "photo.jpg",
      mediaType: "image/jpeg",
      sizeBytes: best.file_size ?? 0,
      remote: best.file_id,
    });
  return files;
}

/** The header in which Telegram shows the webhook's secret. */
export const SIGNED_BY = "x-telegram-bot-api-secret-token";

const POLL_SECONDS = 30;
const REST_MS = 5_000;

export async function setTelegramWebhook(client: Api, url: string, secret: string): Promise<void> {
  await client.setWebhook(url, { secret_token: secret, allowed_updates: [...HEARD_UPDATES] });
}

export interface PollDeps {
  readonly client: Pick<Api, "deleteWebhook" | "getUpdates">;
  readonly take: TakeUpdate;
  readonly texts: () => Pick<ChannelMessages, "pollsElsewhere">;
  readonly timers: Timers;
  readonly onPolled: (trouble: ServiceTrouble | null) => void;
  /** A poll's error in words; the error of an update that could not be stored, as thrown. */
  readonly onTrouble: (error: unknown) => void;
}

/** Telegram, or a server in its place, may answer with anything. */
function readUpdates(answer: unknown): readonly Update[] {
  const isUpdate = (one: unknown) => typeof (one as Partial<Update> | null)?.update_id === "number";
  if (Array.isArray(answer) && answer.every(isUpdate)) return answer as readonly Update[];
  throw new Error("the answer to getUpdates is not a list of updates");
}

function toPollTrouble(error: unknown, { pollsElsewhere }: Pick<ChannelMessages, "pollsElsewhere">) {
  const detail = `getUpdates: ${toDelivered(error).reason}`;
  const isElsewhere =
    error instanceof GrammyError && error.error_code === 409 && !/webhook/i.test(error.description);
  return isElsewhere ? { detail, remedy: pollsElsewhere } : { detail };
}

/** Asking for later updates acknowledges the earlier ones, so each is stored first. Never rejects. */
export async function pollTelegram(
  { client, take, texts, timers, onPolled, onTrouble }: PollDeps,
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  let webhookGone = false;

  async function poll(): Promise<readonly Update[] | null> {
    try {
      // A webhook that was set earlier would receive all updates.
      if (!webhookGone) await client.deleteWebhook({}, grammySignal(signal));
      webhookGone = true;
      const options = { offset: next, timeout: POLL_SECONDS, allowed_updates: [...HEARD_UPDATES] };
      const updates = readUpdates(await client.getUpdates(options, grammySignal(signal)));
      onPolled(null);
      return updates;
    } catch (error) {
      if (signal.aborted) return null;
      // Another program may have set a webhook since.
      if (error instanceof GrammyError && error.error_code === 409) webhookGone = false;
      const trouble = toPollTrouble(error, texts());
      onPolled(trouble);
      onTrouble([trouble.detail, ...("remedy" in trouble ? [trouble.remedy] : [])].join("; "));
      return null;
    }
  }

  while (!signal.aborted) {
    const updates = await poll();
    let stored = updates !== null;
    for (const update of updates ?? [])
      try {
        await take(update);
        next = update.update_id + 1;
      } catch (error) {
        if (signal.aborted) return;
        onTrouble(error);
        stored = false;
        break;
      }
    if (!stored && !signal.aborted) await pause(timers, REST_MS, signal);
  }
}

export const LIMIT_BYTES = 1024 ** 2;

/** The webhook of Telegram, which sends the configured secret. An update is stored before the 200; otherwise Telegram sends it again. */
export function createTelegramWebhook(deps: {
  readonly secret: string;
  readonly take: TakeUpdate;
  readonly onTrouble: (error: unknown) => void;
}): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!isSameSecret(request.headers.get(SIGNED_BY) ?? "", deps.secret))
      return new Response(null, { status: 401 });
    const update = readUpdate(await request.text());
    if (update === null) return new Response(null, { status: 400 });
    return answerEvent(() => deps.take(update), deps.onTrouble);
  };
}

function isSameSecret(given: string, secret: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(secret)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function readUpdate(body: string): Update | null {
  const update = parseEvent(body) as Partial<Update> | null | undefined;
  return typeof update?.update_id === "number" ? (update as Update) : null;
}
