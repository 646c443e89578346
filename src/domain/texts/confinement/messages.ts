import { texts as en } from "../en/confinement.ts";
import { texts as ja } from "../ja/confinement.ts";
import type { Locale } from "../locale.ts";

/** What is said of the network and of the limits of a job. Nothing here ends in a newline. */
export type ConfinementMessages = typeof en;

const MESSAGES: Readonly<Record<Locale, ConfinementMessages>> = { ja, en };

export function confinementMessages(locale: Locale): ConfinementMessages {
  return MESSAGES[locale];
}
