import { type TextsAtStart, textsAtStart } from "../at-start.ts";
import type { Locale } from "../locale.ts";

/** Texts about the network and the limits of a job. Nothing here ends in a newline. */
export type ConfinementMessages = TextsAtStart["confinement"];

export function confinementMessages(locale: Locale): ConfinementMessages {
  return textsAtStart(locale).confinement;
}
