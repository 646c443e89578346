import type { Channel, Receive } from "../../application/ports/channel.ts";
import type { ChatKey } from "../../application/ports/serve.ts";
import type { PushCounter } from "../../application/ports/push-counter.ts";
import type { Timers } from "../../application/ports/timers.ts";
import type { Webhook } from "../../application/ports/webhook.ts";
import type { Config } from "../../config/config.ts";
import type { Secrets } from "../../config/secrets.ts";
import type { Locale } from "../../domain/texts/messages.ts";

/** What a channel is made of. */
export interface ChannelDeps {
  /** As it holds now; a reload changes it. */
  readonly config: () => Config;
  readonly secrets: Secrets;
  readonly locale: () => Locale;
  readonly receive: Receive;
  readonly timers: Timers;
  /** Replies that wait for this chat are to be sent now. */
  readonly sendWaiting: (chat: ChatKey) => void;
  /** The console's address for others, if it has one. */
  readonly publicUrl: string | null;
  readonly openPushCounter: () => Promise<PushCounter>;
  readonly onTrouble: (error: unknown, place: string) => void;
}

export interface OpenedChannel {
  readonly channel: Channel;
  /** Answers `/webhooks/<name>`; null where the service does not call. */
  readonly webhook: Webhook | null;
  /** Begins to listen where the channel does that by itself. */
  start(): Promise<void>;
}

/** One service that people write from. Its folder holds everything of it; the registry has one line of it. */
export interface ChannelEntry {
  readonly name: string;
  /** People whom the configuration itself lets in. */
  allowedUsers(config: Config): readonly string[];
  /** Whether nobody but that person and the bot is in a chat. */
  isDirect(chat: { readonly chatId: string; readonly userId: string }): boolean;
  /** Null where its secrets are not set. Its libraries are loaded here and only here. */
  open(parts: ChannelDeps): Promise<OpenedChannel | null>;
}
