import { terminalTexts as en } from "./cli-terminal.en.ts";
import { terminalTexts as ja } from "./cli-terminal.ja.ts";
import type { Locale } from "./locale.ts";

/** English is the type: another language that lacks a text does not compile. */
export type TerminalMessages = typeof en;

const TEXTS: Readonly<Record<Locale, TerminalMessages>> = { en, ja };

export const terminalMessagesFor = (locale: Locale): TerminalMessages => TEXTS[locale];
