import type { telegramTexts as englishTelegramTexts } from "./telegram.ts";

export const telegramTexts: typeof englishTelegramTexts = {
  working: "作業中です…",
  wholeText: "全文はファイルをご覧ください。",
};
