import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** What only Slack says. */
export type SlackMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, SlackMessages>> = { ja, en };

export function slackMessagesFor(locale: Locale): SlackMessages {
  return CATALOGUES[locale];
}
