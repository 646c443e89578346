import * as en from "./en/setup.ts";
import * as ja from "./ja/setup.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts of `init`, and the comments of the file it writes. */
export type SetupMessages = typeof en.setupTexts;

export const setupMessagesFor = (locale: Locale): SetupMessages => TEXTS[locale].setupTexts;
