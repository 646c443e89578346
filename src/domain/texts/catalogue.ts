import { en } from "./en.ts";
import { ja } from "./ja.ts";
import type { Locale, Messages } from "./messages.ts";

const CATALOGUES: Readonly<Record<Locale, Messages>> = { ja, en };

export function messagesFor(locale: Locale): Messages {
  return CATALOGUES[locale];
}
