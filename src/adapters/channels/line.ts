import type { ChannelEntry } from "./channel-entry.ts";

export const line: ChannelEntry = {
  name: "line",
  title: "LINE",
  allowedUsers: (config) => config.line.allowed_users,
  isDirect: ({ chatId, userId }) => chatId === userId,
  async open(deps) {
    const { config, secrets, timers, locale } = deps;
    const settings = config().line;
    const secret = secrets.resolve(settings.channel_secret);
    const token = secrets.resolve(settings.channel_access_token);
    if (secret === undefined || token === undefined) return null;
    const { messagingApi } = await import("@line/bot-sdk");
    const { createLineChannel, createLineWebhook, LIMIT_BYTES } = await import("./line-channel.ts");
    const { channelMessagesFor } = await import("../../domain/texts/channels.ts");
    const channel = createLineChannel({
      client: new messagingApi.MessagingApiClient({
        channelAccessToken: token,
        ...(settings.base_url !== null && { baseURL: settings.base_url }),
      }),
      content: { url: settings.base_url ?? "https://api-data.line.me", token },
      counter: await deps.openPushCounter(),
      quota: () => config().line.push_quota,
      wording: () => ({
        texts: channelMessagesFor(locale()),
        jobUrl: (jobId) => (deps.publicUrl === null ? null : `${deps.publicUrl}/jobs/${jobId}`),
      }),
      timers,
    });
    const answer = createLineWebhook({
      secret,
      channel,
      receive: deps.receive,
      forcedRoute: () => config().line.forced_route,
      strict: () => config().line.strict,
      sendWaiting: (chatId) => deps.sendWaiting({ channel: "line", chatId }),
      onTrouble: (error) => deps.onTrouble(error, "line"),
    });
    const webhook = { signedBy: "x-line-signature", limitBytes: LIMIT_BYTES, answer };
    return { channel, webhook, start: async () => {} };
  },
};
