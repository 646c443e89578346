import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** Everything the conversation says to a person in its own name; `ja.ts` and `en.ts` are its two catalogues. */
export type ChatMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, ChatMessages>> = { ja, en };

export function chatMessagesFor(locale: Locale): ChatMessages {
  return CATALOGUES[locale];
}
