import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
/** What `serve` says to people: in chats, on the terminal. */
export type ServeMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, ServeMessages>> = { ja, en };

export function serveMessagesFor(locale: Locale): ServeMessages {
  return CATALOGUES[locale];
}
