import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** What only Slack says. */
export type SlackMessages = Texts["slack"];

export function slackMessagesFor(locale: Locale): SlackMessages {
  return textsFor(locale).slack;
}
