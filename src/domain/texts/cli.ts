import * as en from "./en/cli.ts";
import * as ja from "./ja/cli.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts of `--help` and of the manual page. */
export type HelpMessages = typeof en.helpTexts;

export const helpMessagesFor = (locale: Locale): HelpMessages => TEXTS[locale].helpTexts;

/** Texts of `mcp add|list|test|login|logout|remove`. */
export type McpMessages = typeof en.mcpTexts;

export const mcpMessagesFor = (locale: Locale): McpMessages => TEXTS[locale].mcpTexts;
