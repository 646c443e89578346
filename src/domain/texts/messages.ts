import { en } from "./en.ts";
import { ja } from "./ja.ts";

export type Locale = "ja" | "en";

/**
 * Everything PicoClaw says to a person, one member per message; `ja.ts` and `en.ts` are its two catalogues.
 * Nothing here ends in a newline.
 */
export type Messages = typeof en;

const CATALOGUES: Readonly<Record<Locale, Messages>> = { ja, en };

export function messagesFor(locale: Locale): Messages {
  return CATALOGUES[locale];
}
