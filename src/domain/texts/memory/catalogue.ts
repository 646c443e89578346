import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
import type { MemoryMessages } from "./messages.ts";

const CATALOGUES: Readonly<Record<Locale, MemoryMessages>> = { ja, en };

export function memoryMessagesFor(locale: Locale): MemoryMessages {
  return CATALOGUES[locale];
}
