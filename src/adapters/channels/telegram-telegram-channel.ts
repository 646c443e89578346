import { InputFile } from "grammy/web";
import type { Channel, Delivery, DeliveryResult } from "../../application/ports/channel.ts";
import type { TelegramMessages } from "../../domain/texts/texts.ts";
import { callTelegram, type TelegramCall, type TelegramClient } from "./telegram-client.ts";
import { toTelegramHtml } from "./telegram-html.ts";
import { keyboardOf, type TelegramMessage, toTelegramMessages } from "./telegram-messages.ts";
import { type TelegramPlace, telegramPlaceIn, threadOf } from "./telegram-place.ts";
import type { TelegramStatus } from "./telegram-channel.ts";

export interface TelegramChannelDeps {
  readonly client: TelegramClient;
  readonly texts: () => TelegramMessages;
  readonly status: TelegramStatus;
  readonly onClose: () => Promise<void>;
}

const CALL_MS = 20_000;
const REMEMBERED = 1_000;

/**
 * Telegram: a reply is one message or a few, with buttons under the last. Telegram knows no keys and shows no history to
 * bots, so this process remembers how far each reply got; one that was being sent when the process died may come twice.
 */
export function createTelegramChannel({ client, texts, status, onClose }: TelegramChannelDeps): Channel {
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
    if (sent.ok || !sent.unreadable) return sent;
    return callTelegram((ends) => client.sendMessage(place.chat, piece, options, ends), signal);
  }

  /** The message whose button was pressed shows what can be done now. The answer is there already, whatever comes of it. */
  async function redrawPressed(place: TelegramPlace, { content }: Delivery, signal: AbortSignal) {
    const keyboard = content.kind === "reply" ? keyboardOf(content.reply.actions) : null;
    const { pressed } = place;
    if (pressed === undefined || keyboard === null) return;
    const options = { reply_markup: keyboard };
    await callTelegram((ends) => client.editMessageReplyMarkup(place.chat, pressed, options, ends), signal);
  }

  return {
    name: "telegram",
    progress: status.show,
    async deliver(delivery, signal): Promise<DeliveryResult> {
      const place = telegramPlaceIn(delivery.chatId, delivery.replyTo);
      const { pieces, keyboard, file } = toTelegramMessages(delivery.content, texts());
      const parts: ((ends: AbortSignal) => Promise<TelegramCall>)[] = pieces.map(
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
        remember(arrived, delivery.key, at + 1);
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
      if (asked.ok) return { ok: true, detail: `@${asked.value.username}` };
      return { ok: false, detail: asked.delivered.reason, remedy: "TELEGRAM_BOT_TOKEN" };
    },
    close: onClose,
  };
}

function remember(map: Map<string, number>, key: string, value: number): void {
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value as string);
}
