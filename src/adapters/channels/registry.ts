import type { Config } from "../../config/config.ts";
import type { ChannelDeps, ChannelEntry } from "./channel-entry.ts";
import { line } from "./line.ts";
import { slack } from "./slack.ts";
import { telegram } from "./telegram.ts";

const CHANNELS: readonly ChannelEntry[] = [line, slack, telegram];

export const CHANNEL_NAMES = CHANNELS.map(({ name }) => name);

/** As people call a channel; null for one that is not a service of its own (`web`, `cli`). */
export function channelTitle(channel: string): string | null {
  return CHANNELS.find(({ name }) => name === channel)?.title ?? null;
}

/** Every channel whose secrets are set. */
export async function openChannels(deps: ChannelDeps) {
  const opened = (await Promise.all(CHANNELS.map((entry) => entry.open(deps)))).filter((one) => one !== null);
  return {
    channels: opened.map(({ channel }) => channel),
    webhooks: new Map(
      opened.flatMap(({ channel, webhook }) => (webhook === null ? [] : [[channel.name, webhook]])),
    ),
    async start() {
      for (const { channel, start } of opened)
        await start().catch((error: unknown) => deps.onTrouble(error, channel.name));
    },
  };
}

export function allowedUsers(config: Config, channel: string): readonly string[] {
  return CHANNELS.find(({ name }) => name === channel)?.allowedUsers(config) ?? [];
}

/** Whether only that person and PicoClaw are in a chat. True for a person's chats in the console. */
export function isDirectChat(chat: {
  readonly channel: string;
  readonly chatId: string;
  readonly userId: string;
}): boolean {
  if (chat.channel === "web") return true;
  return CHANNELS.find(({ name }) => name === chat.channel)?.isDirect(chat) ?? false;
}
