import * as en from "./en/chat.ts";
import * as ja from "./ja/chat.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Everything the conversation says to a person in its own name. */
export type ChatMessages = typeof en.chatTexts;

export const chatMessagesFor = (locale: Locale): ChatMessages => TEXTS[locale].chatTexts;

export type { ContextLine, ModelFactsLine } from "./en/chat.ts";

/** Texts about decisions, sessions and usage. */
export type MemoryMessages = typeof en.memoryTexts;

export const memoryMessagesFor = (locale: Locale): MemoryMessages => TEXTS[locale].memoryTexts;
