import type { ChannelEntry } from "./channel-entry.ts";

export const slack: ChannelEntry = {
  name: "slack",
  title: "Slack",
  allowedUsers: (config) => config.slack.allowed_users,
  isDirect: ({ chatId }) => chatId.startsWith("D"),
  async open(deps) {
    const { config, secrets, timers, locale } = deps;
    const settings = config().slack;
    const botToken = secrets.resolve(settings.bot_token);
    const appToken = secrets.resolve(settings.app_token) ?? null;
    const signingSecret = secrets.resolve(settings.signing_secret) ?? null;
    if (botToken === undefined || (appToken === null && signingSecret === null)) return null;
    const { createSlackApp, LIMIT_BYTES } = await import("./slack-events.ts");
    const { createSlackChannel } = await import("./slack-channel.ts");
    const { channelMessagesFor } = await import("../../domain/texts/channels.ts");
    const { chatMessagesFor } = await import("../../domain/texts/chat.ts");
    const { describeEvent } = await import("../../application/chat/describe-event.ts");
    const texts = () => channelMessagesFor(locale());
    const app = createSlackApp({
      botToken,
      appToken,
      signingSecret,
      apiUrl: settings.base_url,
      receive: deps.receive,
      texts,
      timers,
      onTrouble: (error) => deps.onTrouble(error, "slack"),
    });
    const channel = createSlackChannel({
      client: app.client,
      texts,
      timers,
      describe: (event) => describeEvent(event, chatMessagesFor(locale())) || null,
      files: { token: botToken, apiUrl: settings.base_url },
      socketTrouble: app.socketTrouble,
      onClose: () => app.stop(),
    });
    const { webhook: answer } = app;
    const webhook = answer && { signedBy: "x-slack-signature", limitBytes: LIMIT_BYTES, answer };
    return { channel, webhook, start: () => app.start() };
  },
};
