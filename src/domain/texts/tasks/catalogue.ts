import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
import type { TaskMessages } from "./messages.ts";

const CATALOGUES: Readonly<Record<Locale, TaskMessages>> = { ja, en };

export function taskMessagesFor(locale: Locale): TaskMessages {
  return CATALOGUES[locale];
}
