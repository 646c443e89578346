import type { slackTexts as englishSlackTexts } from "./slack.ts";

export const slackTexts: typeof englishSlackTexts = {
  working: "作業中です…",
  accepted: "受け付けました。結果はここに届きます。",
  wholeText: "全文はファイルをご覧ください。",
  usage: "使い方: /picoclaw メッセージ（例: /picoclaw /undo）",
};
