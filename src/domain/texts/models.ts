import type { Locale } from "./locale.ts";
import * as en from "./models.en.ts";
import * as ja from "./models.ja.ts";

/** English is the type: another language that lacks a text does not compile. */
const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts about models: their failures and the remedies. */
export type ModelMessages = typeof en.modelsTexts;

export const modelMessagesFor = (locale: Locale): ModelMessages => TEXTS[locale].modelsTexts;
