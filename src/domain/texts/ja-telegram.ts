import type { telegramTexts as en } from "./telegram.ts";

export const telegramTexts: typeof en = {
  working: "作業中です…",
  wholeText: "全文はファイルをご覧ください。",
};
