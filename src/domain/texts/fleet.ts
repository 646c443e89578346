import * as en from "./en/fleet.ts";
import * as ja from "./ja/fleet.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts about the machines that share a store. */
export type FleetMessages = typeof en.fleetTexts;

export const fleetMessagesFor = (locale: Locale): FleetMessages => TEXTS[locale].fleetTexts;
