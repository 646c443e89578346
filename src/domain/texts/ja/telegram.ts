import type { texts as en } from "../en/telegram.ts";

export const texts: typeof en = {
  working: "作業中です…",
  wholeText: "全文はファイルをご覧ください。",
};
