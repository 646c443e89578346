import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** Every word of the web console. */
export type ConsoleMessages = typeof en;

export type JobTone = keyof ConsoleMessages["jobStates"];

const CATALOGUES: Readonly<Record<Locale, ConsoleMessages>> = { ja, en };

export function consoleMessagesFor(locale: Locale): ConsoleMessages {
  return CATALOGUES[locale];
}
