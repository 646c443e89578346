import * as en from "./en/serve.ts";
import * as ja from "./ja/serve.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts of `serve`, in chats and on the terminal. */
export type ServeMessages = typeof en.serveTexts;

export const serveMessagesFor = (locale: Locale): ServeMessages => TEXTS[locale].serveTexts;
