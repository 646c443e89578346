import type { Locale } from "./locale.ts";
import * as en from "./serve.en.ts";
import * as ja from "./serve.ja.ts";

/** English is the type: another language that lacks a text does not compile. */
const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts of `serve`, in chats and on the terminal. */
export type ServeMessages = typeof en.serveTexts;

export const serveMessagesFor = (locale: Locale): ServeMessages => TEXTS[locale].serveTexts;
