import * as en from "./en/jobs-running.ts";
import * as ja from "./ja/jobs-running.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts of the list of what runs now, at a terminal and in the console. */
export type RunningMessages = typeof en.runningTexts;

export const runningMessagesFor = (locale: Locale): RunningMessages => TEXTS[locale].runningTexts;
