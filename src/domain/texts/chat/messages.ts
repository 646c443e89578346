import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** Everything the conversation says to a person in its own name. */
export type ChatMessages = Texts["chat"];

export function chatMessagesFor(locale: Locale): ChatMessages {
  return textsFor(locale).chat;
}
