import type { StoredMessage } from "../../application/ports/channel.ts";
import type { ChatEvent } from "../../application/ports/conversation.ts";
import type { Timers } from "../../application/ports/timers.ts";
import type { TelegramMessages } from "../../domain/texts/texts.ts";
import { createStreamedMessage, type Progress, type StreamedMessage } from "./channel-message.ts";
import { callTelegram, type TelegramClient } from "./telegram-client.ts";
import { type TelegramPlace, telegramPlaceIn, threadOf } from "./telegram-place.ts";

export interface TelegramStatusDeps {
  readonly client: TelegramClient;
  readonly texts: () => TelegramMessages;
  readonly timers: Timers;
  /** One line of what is being done. */
  readonly describe: (event: ChatEvent) => string | null;
}

export interface TelegramStatus {
  show(message: StoredMessage, event: ChatEvent): void;
  /** The answer is there: the status goes, and none follows. Never rejects. */
  end(messageId: string): Promise<void>;
}

const CALL_MS = 20_000;
/** Telegram shows "typing" for five seconds. */
const TYPING_MS = 4_500;
/** What is quicker needs no words. */
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

/**
 * What is being done: "typing", and after a while a silent message. The reply is a message of its own, since Telegram rings
 * for nothing that is edited.
 */
export function createTelegramStatus({
  client,
  texts,
  timers,
  describe,
}: TelegramStatusDeps): TelegramStatus {
  const shown = new Map<string, ShownStatus>();
  /** An event that comes after the answer must not begin another one. */
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
    show({ id, chatId }, event) {
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
      status.message.show(({ text, note }) =>
        event.type === "text" ? { text: text + event.text, note } : { text, note: describe(event) ?? note },
      );
    },
    async end(id) {
      answered.add(id);
      if (answered.size > REMEMBERED) answered.delete(answered.values().next().value as string);
      const status = shown.get(id);
      shown.delete(id);
      const message = (await status?.message?.close()) ?? null;
      if (status === undefined || message === null) return;
      await callTelegram((ends) => client.deleteMessage(status.place.chat, Number(message), ends), within());
    },
  };
}

function wordProgress({ text, note }: Progress): string {
  const streamed = text.slice(-STREAMED_CHARS).toWellFormed().trim();
  return streamed === "" ? note : `${streamed}\n\n${note}`;
}
