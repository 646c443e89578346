import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** Texts about decisions, sessions and usage. */
export type MemoryMessages = Texts["memory"];

export function memoryMessagesFor(locale: Locale): MemoryMessages {
  return textsFor(locale).memory;
}
