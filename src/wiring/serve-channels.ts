import type { Kysely } from "kysely";
import type { Channel, Receive } from "../application/ports/channel.ts";
import type { ChatKey } from "../application/ports/message-store.ts";
import type { Timers } from "../application/ports/timers.ts";
import type { Config } from "../config/config.ts";
import type { Secrets } from "../config/secrets.ts";
import type { Locale } from "../domain/texts/messages.ts";
import type { Database } from "../infrastructure/store/schema.ts";

export interface ChannelParts {
  readonly db: Kysely<Database>;
  /** As it holds now; a reload changes it. */
  readonly config: () => Config;
  readonly secrets: Secrets;
  readonly locale: () => Locale;
  readonly receive: Receive;
  readonly timers: Timers;
  /** Replies that wait for this chat are to be sent now. */
  readonly kick: (chat: ChatKey) => void;
  /** The console's address for others, if it has one. */
  readonly publicUrl: string | null;
  readonly onTrouble: (error: unknown, place: string) => void;
}

export interface OpenedChannels {
  readonly channels: readonly Channel[];
  readonly webhooks: ReadonlyMap<string, (request: Request) => Promise<Response>>;
  /** Begins to listen where a channel does that by itself. */
  start(): Promise<void>;
}

/** LINE and Slack, each where its secrets are set; their libraries are loaded then and only then. */
export async function openChannels(parts: ChannelParts): Promise<OpenedChannels> {
  const opened = (await Promise.all([openLine(parts), openSlack(parts)])).filter((one) => one !== null);
  return {
    channels: opened.map(({ channel }) => channel),
    webhooks: new Map(
      opened.flatMap(({ channel, webhook }) => (webhook === null ? [] : [[channel.name, webhook]])),
    ),
    async start() {
      for (const { channel, start } of opened)
        await start().catch((error: unknown) => parts.onTrouble(error, channel.name));
    },
  };
}

interface Opened {
  readonly channel: Channel;
  readonly webhook: ((request: Request) => Promise<Response>) | null;
  start(): Promise<void>;
}

async function openLine(parts: ChannelParts): Promise<Opened | null> {
  const { db, config, secrets, timers, locale } = parts;
  const settings = config().line;
  const secret = secrets.resolve(settings.channel_secret);
  const token = secrets.resolve(settings.channel_access_token);
  if (secret === undefined || token === undefined) return null;
  const { messagingApi } = await import("@line/bot-sdk");
  const { createLineChannel } = await import("../adapters/channels/line/line-channel.ts");
  const { createLineWebhook } = await import("../adapters/channels/line/line-webhook.ts");
  const { createPushCounter } = await import("../infrastructure/store/push-counter.ts");
  const { lineMessagesFor } = await import("../domain/texts/line/messages.ts");
  const nudge = (chatId: string) => parts.kick({ channel: "line", chatId });
  const channel = createLineChannel({
    client: new messagingApi.MessagingApiClient({
      channelAccessToken: token,
      ...(settings.base_url !== null && { baseURL: settings.base_url }),
    }),
    counter: await createPushCounter(db, timers.now),
    quota: () => config().line.push_quota,
    wording: () => ({
      texts: lineMessagesFor(locale()),
      jobUrl: (jobId) => (parts.publicUrl === null ? null : `${parts.publicUrl}/jobs/${jobId}`),
    }),
    timers,
  });
  const webhook = createLineWebhook({
    secret,
    channel,
    receive: parts.receive,
    forcedRoute: () => config().line.forced_route,
    strict: () => config().line.strict,
    nudge,
    onTrouble: (error) => parts.onTrouble(error, "line"),
  });
  return { channel, webhook, start: async () => {} };
}

async function openSlack(parts: ChannelParts): Promise<Opened | null> {
  const { config, secrets, timers, locale } = parts;
  const settings = config().slack;
  const botToken = secrets.resolve(settings.bot_token);
  const appToken = secrets.resolve(settings.app_token) ?? null;
  const signingSecret = secrets.resolve(settings.signing_secret) ?? null;
  if (botToken === undefined || (appToken === null && signingSecret === null)) return null;
  const { createSlackApp } = await import("../adapters/channels/slack/slack-app.ts");
  const { createSlackChannel } = await import("../adapters/channels/slack/slack-channel.ts");
  const { slackMessagesFor } = await import("../domain/texts/slack/messages.ts");
  const { chatMessagesFor } = await import("../domain/texts/chat/messages.ts");
  const { describeEvent } = await import("../adapters/cli/describe-event.ts");
  const texts = () => slackMessagesFor(locale());
  const app = createSlackApp({
    botToken,
    appToken,
    signingSecret,
    apiUrl: settings.base_url,
    receive: parts.receive,
    texts,
    onTrouble: (error) => parts.onTrouble(error, "slack"),
  });
  const channel = createSlackChannel({
    client: app.client,
    texts,
    timers,
    describe: (event) => describeEvent(event, chatMessagesFor(locale())) || null,
    onClose: () => app.stop(),
  });
  return { channel, webhook: app.webhook, start: () => app.start() };
}
