import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** What only LINE says. */
export type LineMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, LineMessages>> = { ja, en };

export function lineMessagesFor(locale: Locale): LineMessages {
  return CATALOGUES[locale];
}
