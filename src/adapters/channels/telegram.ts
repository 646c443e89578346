import type { ChannelEntry } from "./channel-entry.ts";
import type { ServiceTrouble } from "./service-call.ts";

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
    const service = await import("./telegram-channel.ts");
    const { chatMessagesFor } = await import("../../domain/texts/chat.ts");
    const { channelMessagesFor } = await import("../../domain/texts/channels.ts");
    const { describeEvent } = await import("../../application/chat/describe-event.ts");
    const trouble = (error: unknown) => onTrouble(error, "telegram");
    const client = service.createTelegramClient({ token, apiUrl: settings.base_url });
    const take = service.createTelegramUpdates({ client, receive });
    const closed = new AbortController();
    const texts = () => channelMessagesFor(locale());
    let pollTrouble: ServiceTrouble | null = null;
    const onPolled = (trouble: ServiceTrouble | null) => {
      pollTrouble = trouble;
    };
    const channel = service.createTelegramChannel({
      client,
      texts,
      timers,
      describe: (event) => describeEvent(event, chatMessagesFor(locale())) || null,
      fileUrl: (path) => `${settings.base_url ?? "https://api.telegram.org"}/file/bot${token}/${path}`,
      pollTrouble: () => pollTrouble,
      onClose: async () => closed.abort(),
    });
    if (secret === null || publicUrl === null)
      return {
        channel,
        webhook: null,
        start: async () =>
          void service.pollTelegram(
            { client, take, texts, timers, onPolled, onTrouble: trouble },
            closed.signal,
          ),
      };
    const answer = service.createTelegramWebhook({ secret, take, onTrouble: trouble });
    return {
      channel,
      webhook: { signedBy: service.SIGNED_BY, limitBytes: service.LIMIT_BYTES, answer },
      start: () =>
        service.setTelegramWebhook(client, `${publicUrl.replace(/\/+$/, "")}/webhooks/telegram`, secret),
    };
  },
};
