import * as en from "./en/heads.ts";
import * as ja from "./ja/heads.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts about the user's own agents as heads. */
export type HeadMessages = typeof en.headTexts;

export const headMessagesFor = (locale: Locale): HeadMessages => TEXTS[locale].headTexts;

export type { HeadTrouble } from "./en/heads.ts";
