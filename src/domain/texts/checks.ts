import * as en from "./en/checks.ts";
import * as ja from "./ja/checks.ts";
import type { Locale } from "./locale.ts";

/** English is the type: another language that lacks a text does not compile. */
const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts about the checks over a draft. */
export type ChecksMessages = typeof en.checksTexts;

export const checksMessagesFor = (locale: Locale): ChecksMessages => TEXTS[locale].checksTexts;
