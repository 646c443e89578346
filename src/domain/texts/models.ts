import * as en from "./en/models.ts";
import * as ja from "./ja/models.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts about models: their failures and the remedies. */
export type ModelMessages = typeof en.modelsTexts;

export const modelMessagesFor = (locale: Locale): ModelMessages => TEXTS[locale].modelsTexts;
