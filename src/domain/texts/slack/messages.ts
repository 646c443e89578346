import type { Locale } from "../messages.ts";

/** What only Slack says. */
export interface SlackMessages {
  readonly working: string;
  readonly accepted: string;
  readonly wholeText: string;
  readonly usage: string;
}

const ja: SlackMessages = {
  working: "作業中です…",
  accepted: "受け付けました。結果はここに届きます。",
  wholeText: "全文はファイルをご覧ください。",
  usage: "使い方: /picoclaw メッセージ（例: /picoclaw /undo）",
};

const en: SlackMessages = {
  working: "Working…",
  accepted: "Got it. The result comes here.",
  wholeText: "The whole text is in the file.",
  usage: "Usage: /picoclaw MESSAGE (for example: /picoclaw /undo)",
};

const CATALOGUES: Readonly<Record<Locale, SlackMessages>> = { ja, en };

export function slackMessagesFor(locale: Locale): SlackMessages {
  return CATALOGUES[locale];
}
