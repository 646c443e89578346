import type { lineTexts as englishLineTexts } from "./channels.en.ts";

export const lineTexts: typeof englishLineTexts = {
  stillWorking: "まだ作業中です。しばらくしたら、下のボタンで結果を受け取れます。",
  collect: "結果を見る",
  cutHere: "…（長いため省略しました）",
  seeConsole: (url) => `全文: ${url}`,
  quotaSpent: (quota) =>
    `今月のプッシュ通知（${quota} 通）を使い切りました。次のメッセージへの返信としてお届けします。`,
};
