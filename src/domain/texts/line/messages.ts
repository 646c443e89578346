import type { Locale } from "../messages.ts";

/** What only LINE says. */
export interface LineMessages {
  /** Before the reply token runs out, with a button that brings a fresh one. */
  readonly stillWorking: string;
  readonly collect: string;
  readonly cutHere: string;
  seeConsole(url: string): string;
  quotaSpent(quota: number): string;
}

const ja: LineMessages = {
  stillWorking: "まだ作業中です。しばらくしたら、下のボタンで結果を受け取れます。",
  collect: "結果を見る",
  cutHere: "…（長いため省略しました）",
  seeConsole: (url) => `全文: ${url}`,
  quotaSpent: (quota) =>
    `今月のプッシュ通知（${quota} 通）を使い切りました。次のメッセージへの返信としてお届けします。`,
};

const en: LineMessages = {
  stillWorking: "Still working. In a while, the button below brings the result.",
  collect: "Show result",
  cutHere: "… (cut because of its length)",
  seeConsole: (url) => `All of it: ${url}`,
  quotaSpent: (quota) =>
    `This month's ${quota} push messages are used up. The result comes as the reply to your next message.`,
};

const CATALOGUES: Readonly<Record<Locale, LineMessages>> = { ja, en };

export function lineMessagesFor(locale: Locale): LineMessages {
  return CATALOGUES[locale];
}
