import { type TextsAtStart, textsAtStart } from "./at-start.ts";
import type { Locale } from "./locale.ts";

export type { Locale };

/** What every command may have to say: jobs, files, configuration, usage. Nothing here ends in a newline. */
export type Messages = TextsAtStart["work"];

export function messagesFor(locale: Locale): Messages {
  return textsAtStart(locale).work;
}

/** Texts about the network and the limits of a job. Nothing here ends in a newline. */
export type ConfinementMessages = TextsAtStart["confinement"];

export function confinementMessages(locale: Locale): ConfinementMessages {
  return textsAtStart(locale).confinement;
}

/** What a report of a job begins with and ends in. */
export function reportMessages(locale: Locale): TextsAtStart["report"] {
  return textsAtStart(locale).report;
}
