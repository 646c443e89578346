import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** What `serve` says to people: in chats, on the terminal. */
export type ServeMessages = Texts["serve"];

export function serveMessagesFor(locale: Locale): ServeMessages {
  return textsFor(locale).serve;
}
