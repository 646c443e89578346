import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

export type TaskMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, TaskMessages>> = { ja, en };

export function taskMessagesFor(locale: Locale): TaskMessages {
  return CATALOGUES[locale];
}
