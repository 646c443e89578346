import * as en from "./en/web.ts";
import * as ja from "./ja/web.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Every word of the web console. */
export type ConsoleMessages = typeof en.consoleTexts;

export const consoleMessagesFor = (locale: Locale): ConsoleMessages => TEXTS[locale].consoleTexts;

/** Texts of the pages on which operators manage PicoClaw. */
export type ManageMessages = typeof en.manageTexts;

export const manageMessagesFor = (locale: Locale): ManageMessages => TEXTS[locale].manageTexts;
