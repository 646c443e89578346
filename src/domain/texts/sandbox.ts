import * as en from "./en/sandbox.ts";
import * as ja from "./ja/sandbox.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts about the background processes of a workspace. */
export type ProcessMessages = typeof en.processTexts;

export const processMessagesFor = (locale: Locale): ProcessMessages => TEXTS[locale].processTexts;
