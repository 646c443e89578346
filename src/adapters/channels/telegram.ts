import type { ChatEvent } from "../../application/ports/chat.ts";
import type { ChannelEntry } from "./channel-entry.ts";
import type { PollTrouble } from "./telegram-channel.ts";

export const telegram: ChannelEntry = {
  name: "telegram",
  title: "Telegram",
  allowedUsers: (config) => config.telegram.allowed_users,
  isDirect: ({ chatId, userId }) => chatId === userId,
  async open({ config, secrets, locale, receive, timers, publicUrl, onTrouble }) {
    const settings = config().telegram;
    const token = secrets.resolve(settings.bot_token);
    if (token === undefined) return null;
    const secret = secrets.resolve(settings.webhook_secret) ?? null;
    const { createTelegramClient } = await import("./telegram-channel.ts");
    const { createTelegramChannel } = await import("./telegram-channel.ts");
    const { createTelegramUpdates } = await import("./telegram-channel.ts");
    const { createTelegramWebhook, LIMIT_BYTES } = await import("./telegram-channel.ts");
    const { pollTelegram, SIGNED_BY, setTelegramWebhook } = await import("./telegram-channel.ts");
    const { createTelegramStatus } = await import("./telegram-channel.ts");
    const { chatMessagesFor } = await import("../../domain/texts/chat.ts");
    const { telegramMessagesFor } = await import("../../domain/texts/channels.ts");
    const { describeEvent } = await import("../../application/chat/describe-event.ts");
    const trouble = (error: unknown) => onTrouble(error, "telegram");
    const client = createTelegramClient({ token, apiUrl: settings.base_url });
    const take = createTelegramUpdates({ client, receive });
    const closed = new AbortController();
    const texts = () => telegramMessagesFor(locale());
    const describe = (event: ChatEvent) => describeEvent(event, chatMessagesFor(locale())) || null;
    const polled: { trouble: PollTrouble | null } = { trouble: null };
    const onPolled = (trouble: PollTrouble | null) => {
      polled.trouble = trouble;
    };
    const channel = createTelegramChannel({
      client,
      texts,
      status: createTelegramStatus({ client, texts, timers, describe }),
      fileUrl: (path) => `${settings.base_url ?? "https://api.telegram.org"}/file/bot${token}/${path}`,
      pollTrouble: () => polled.trouble,
      onClose: async () => closed.abort(),
    });
    if (secret === null || publicUrl === null)
      return {
        channel,
        webhook: null,
        start: async () =>
          void pollTelegram({ client, take, texts, timers, onPolled, onTrouble: trouble }, closed.signal),
      };
    const answer = createTelegramWebhook({ secret, take, onTrouble: trouble });
    return {
      channel,
      webhook: { signedBy: SIGNED_BY, limitBytes: LIMIT_BYTES, answer },
      start: () => setTelegramWebhook(client, `${publicUrl.replace(/\/+$/, "")}/webhooks/telegram`, secret),
    };
  },
};
