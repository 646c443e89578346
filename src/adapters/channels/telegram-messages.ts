import type { InlineKeyboardButton, InlineKeyboardMarkup } from "grammy/types";
import type { Outgoing } from "../../application/ports/channel.ts";
import { splitText } from "../../domain/texts/format-text.ts";
import type { TelegramMessages } from "../../domain/texts/texts.ts";
import type { JobAction } from "../../domain/jobs/job-actions.ts";

/** Telegram's limits: 4,096 characters of a message without its marks, 64 bytes behind a button, 256 to copy. */
const TEXT_UNITS = 4000;
const DATA_BYTES = 64;
const COPIED_UNITS = 256;
const LABEL_UNITS = 40;
const BUTTONS_IN_A_ROW = 2;
const PIECES = 4;

export interface TelegramMessage {
  /** Markdown, in the order in which it is sent. */
  readonly pieces: readonly string[];
  /** Under the last piece. */
  readonly keyboard: InlineKeyboardMarkup | null;
  /** The whole text, where it is too long for messages. */
  readonly file: string | null;
}

export function toTelegramMessages(content: Outgoing, texts: TelegramMessages): TelegramMessage {
  const text = (content.kind === "notice" ? content.text : content.reply.text).trim() || "…";
  const keyboard = content.kind === "reply" ? keyboardOf(content.reply.actions) : null;
  const pieces = splitText(text, TEXT_UNITS);
  if (pieces.length <= PIECES) return { pieces, keyboard, file: null };
  return { pieces: [...pieces.slice(0, PIECES - 1), texts.wholeText], keyboard, file: text };
}

/** What can be done now; null where nothing can. */
export function keyboardOf(actions: readonly JobAction[]): InlineKeyboardMarkup | null {
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
