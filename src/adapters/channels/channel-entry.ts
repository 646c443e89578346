import type { Timers, Webhook } from "../../application/ports/platform.ts";
import type { Channel, ChatKey, PushCounter, Receive } from "../../application/ports/serve.ts";
import type { Config, Secrets } from "../../config/config.ts";
import type { Locale } from "../../domain/texts/locale.ts";

export interface ChannelDeps {
  /** As it holds now; a reload changes it. */
  readonly config: () => Config;
  readonly secrets: Secrets;
  readonly locale: () => Locale;
  readonly receive: Receive;
  readonly timers: Timers;
  readonly sendWaiting: (chat: ChatKey) => void;
  /** The console's address for others, if it has one. */
  readonly publicUrl: string | null;
  readonly openPushCounter: () => Promise<PushCounter>;
  readonly onTrouble: (error: unknown, place: string) => void;
}

interface OpenedChannel {
  readonly channel: Channel;
  /** Answers `/webhooks/<name>`; null where the service does not call. */
  readonly webhook: Webhook | null;
  /** Begins to listen where the channel does that by itself. */
  start(): Promise<void>;
}

/** One service that people write from. Its folder holds everything of it; the registry has one line of it. */
export interface ChannelEntry {
  readonly name: string;
  readonly title: string;
  allowedUsers(config: Config): readonly string[];
  /** Whether only that person and the bot are in a chat. */
  isDirect(chat: { readonly chatId: string; readonly userId: string }): boolean;
  /** Null where its secrets are not set. Its libraries are loaded here and only here. */
  open(deps: ChannelDeps): Promise<OpenedChannel | null>;
}
