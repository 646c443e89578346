import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
import type { ServeMessages } from "./messages.ts";

const CATALOGUES: Readonly<Record<Locale, ServeMessages>> = { ja, en };

export function serveMessagesFor(locale: Locale): ServeMessages {
  return CATALOGUES[locale];
}
