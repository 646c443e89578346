import * as en from "./en/jobs.ts";
import * as ja from "./ja/jobs.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts that every command may need: jobs, files, configuration, usage. Nothing here ends in a newline. */
export type Messages = typeof en.messages;

export const messagesFor = (locale: Locale): Messages => TEXTS[locale].messages;

/** The first and the last lines of a job's report. */
export const reportMessages = (locale: Locale): typeof en.reportTexts => TEXTS[locale].reportTexts;
