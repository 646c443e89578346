import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
/** What `init` says, and the comments of the file it writes. */
export type SetupMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, SetupMessages>> = { ja, en };

export function setupMessagesFor(locale: Locale): SetupMessages {
  return CATALOGUES[locale];
}
