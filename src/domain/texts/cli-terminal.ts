import * as en from "./en/cli-terminal.ts";
import * as ja from "./ja/cli-terminal.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts of the conversation at a terminal. */
export type TerminalMessages = typeof en.terminalTexts;

export const terminalMessagesFor = (locale: Locale): TerminalMessages => TEXTS[locale].terminalTexts;
