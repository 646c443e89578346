import * as en from "./en/policy.ts";
import * as ja from "./ja/policy.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts about commands that policy refuses. */
export type CommandMessages = typeof en.commandsTexts;

export const commandMessages = (locale: Locale): CommandMessages => TEXTS[locale].commandsTexts;

/** Texts about the network and the limits of a job. Nothing here ends in a newline. */
export type ConfinementMessages = typeof en.confinementTexts;

export const confinementMessages = (locale: Locale): ConfinementMessages => TEXTS[locale].confinementTexts;
