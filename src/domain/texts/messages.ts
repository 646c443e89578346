import { texts as en } from "./en/work.ts";
import { texts as ja } from "./ja/work.ts";
import type { Locale } from "./locale.ts";

export type { Locale };

/** What every command may have to say: jobs, files, configuration, usage. Nothing here ends in a newline. */
export type Messages = typeof en;

const MESSAGES: Readonly<Record<Locale, Messages>> = { ja, en };

export function messagesFor(locale: Locale): Messages {
  return MESSAGES[locale];
}
