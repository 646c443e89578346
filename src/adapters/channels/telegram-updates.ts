import type { Message, Update } from "grammy/types";
import type { Attachment, InboundMessage, Receive } from "../../application/ports/channel.ts";
import { callTelegram, type TelegramClient } from "./telegram-client.ts";
import { chatIdOf, telegramPlaceIn, threadOf } from "./telegram-place.ts";

/** What Telegram is asked for; everything else never comes. */
export const HEARD_UPDATES = ["message", "callback_query"] as const;

const ANSWER_MS = 10_000;

/** Stores what an update says. Rejects when that failed: the update must then come again. */
export type TakeUpdate = (update: Update) => Promise<void>;

/** Messages and buttons. Among several people only what names the bot, answers it or is a command is for it. */
export function createTelegramUpdates(parts: {
  readonly client: TelegramClient;
  readonly receive: Receive;
}): TakeUpdate {
  const { client, receive } = parts;
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

  return async ({ update_id: id, message, callback_query: pressed }) => {
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

/** What was said to the bot, without its name; null when it was said to others. */
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

/** `/undo@our_bot job_…` is `/undo job_…`. `/start` is what Telegram sends for whoever opens the chat. */
function commandOf(text: string): string {
  const bare = text.replace(/^(\/\w+)@\w+/, "$1");
  return bare === "/start" ? "/help" : bare;
}

function topicOf({ is_topic_message: topic, message_thread_id: thread }: Message): number | undefined {
  return topic === true ? thread : undefined;
}

/** Name and size of what came along. */
function attachedFiles({ document, photo }: Message): Attachment[] {
  const files: Attachment[] = [];
  if (document !== undefined)
    files.push({
      name: document.file_name ?? "file",
      mediaType: document.mime_type ?? "application/octet-stream",
      sizeBytes: document.file_size ?? 0,
    });
  const largest = photo?.at(-1);
  if (largest !== undefined)
    files.push({ name: "photo.jpg", mediaType: "image/jpeg", sizeBytes: largest.file_size ?? 0 });
  return files;
}
