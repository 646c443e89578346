import * as en from "./en/channels.ts";
import * as ja from "./ja/channels.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

export type ChannelMessages = typeof en.channelTexts;

export const channelMessagesFor = (locale: Locale): ChannelMessages => TEXTS[locale].channelTexts;
