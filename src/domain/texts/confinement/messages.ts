import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** What is said of the network and of the limits of a job. Nothing here ends in a newline. */
export type ConfinementMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, ConfinementMessages>> = { ja, en };

export function confinementMessages(locale: Locale): ConfinementMessages {
  return CATALOGUES[locale];
}
