import * as en from "./en/history.ts";
import * as ja from "./ja/history.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts about earlier states, the origin of lines and comparisons. */
export type HistoryMessages = typeof en.historyTexts;

export const historyMessagesFor = (locale: Locale): HistoryMessages => TEXTS[locale].historyTexts;
