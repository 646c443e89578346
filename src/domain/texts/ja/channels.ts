import type * as en from "../en/channels.ts";

export const channelTexts: typeof en.channelTexts = {
  working: "作業中です…",
  wholeText: "全文はファイルをご覧ください。",
  stillWorking: "まだ作業中です。しばらくしたら、下のボタンで結果を受け取れます。",
  collect: "結果を見る",
  cutHere: "…（長いため省略しました）",
  seeConsole: (url) => `全文: ${url}`,
  quotaSpent: (quota) =>
    `今月のプッシュ通知（${quota} 通）を使い切りました。次のメッセージへの返信としてお届けします。`,
  accepted: "受け付けました。結果はここに届きます。",
  usage: "使い方: /picoclaw メッセージ（例: /picoclaw /undo）",
  filesRight: "Slack アプリに files:read の権限が必要です",
  pollsElsewhere:
    "別のプロセスが同じ TELEGRAM_BOT_TOKEN で受信しています。そのプロセスを終了するか、このサーバーに専用のボットを用意してください",
};
