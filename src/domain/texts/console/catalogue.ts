import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
import type { ConsoleMessages } from "./messages.ts";

const CATALOGUES: Readonly<Record<Locale, ConsoleMessages>> = { ja, en };

export function consoleMessagesFor(locale: Locale): ConsoleMessages {
  return CATALOGUES[locale];
}
