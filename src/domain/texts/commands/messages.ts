import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

export type CommandMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, CommandMessages>> = { ja, en };

export function commandMessages(locale: Locale): CommandMessages {
  return CATALOGUES[locale];
}
