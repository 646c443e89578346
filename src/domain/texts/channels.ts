import * as en from "./en/channels.ts";
import * as ja from "./ja/channels.ts";
import type { Locale } from "./locale.ts";

/** English is the type: another language that lacks a text does not compile. */
const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

export type LineMessages = typeof en.lineTexts;

export const lineMessagesFor = (locale: Locale): LineMessages => TEXTS[locale].lineTexts;

export type SlackMessages = typeof en.slackTexts;

export const slackMessagesFor = (locale: Locale): SlackMessages => TEXTS[locale].slackTexts;

export type TelegramMessages = typeof en.telegramTexts;

export const telegramMessagesFor = (locale: Locale): TelegramMessages => TEXTS[locale].telegramTexts;
