import type * as en from "../en/channels.ts";

export const lineTexts: typeof en.lineTexts = {
  stillWorking: "まだ作業中です。しばらくしたら、下のボタンで結果を受け取れます。",
  collect: "結果を見る",
  cutHere: "…（長いため省略しました）",
  seeConsole: (url) => `全文: ${url}`,
  quotaSpent: (quota) =>
    `今月のプッシュ通知（${quota} 通）を使い切りました。次のメッセージへの返信としてお届けします。`,
};

export const slackTexts: typeof en.slackTexts = {
  working: "作業中です…",
  accepted: "受け付けました。結果はここに届きます。",
  wholeText: "全文はファイルをご覧ください。",
  usage: "使い方: /picoclaw メッセージ（例: /picoclaw /undo）",
  filesRight: "Slack アプリに files:read の権限が必要です",
};

export const telegramTexts: typeof en.telegramTexts = {
  working: "作業中です…",
  wholeText: "全文はファイルをご覧ください。",
  pollsElsewhere:
    "別のプロセスが同じ TELEGRAM_BOT_TOKEN で受信しています。そのプロセスを終了するか、このサーバーに専用のボットを用意してください",
};
