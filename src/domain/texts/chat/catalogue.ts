import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
import type { ChatMessages } from "./messages.ts";

const CATALOGUES: Readonly<Record<Locale, ChatMessages>> = { ja, en };

export function chatMessagesFor(locale: Locale): ChatMessages {
  return CATALOGUES[locale];
}
