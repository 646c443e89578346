import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
import type { SetupMessages } from "./messages.ts";

const CATALOGUES: Readonly<Record<Locale, SetupMessages>> = { ja, en };

export function setupMessagesFor(locale: Locale): SetupMessages {
  return CATALOGUES[locale];
}
