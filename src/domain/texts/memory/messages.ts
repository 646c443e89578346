import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** What is said about decisions, sessions and usage. */
export type MemoryMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, MemoryMessages>> = { ja, en };

export function memoryMessagesFor(locale: Locale): MemoryMessages {
  return CATALOGUES[locale];
}
