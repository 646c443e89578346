import type { texts as en } from "../en/telegram.ts";

export const texts: typeof en = {
  wholeText: "全文はファイルをご覧ください。",
};
