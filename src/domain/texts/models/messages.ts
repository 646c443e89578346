import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** Texts about models: their failures and what helps. */
export type ModelMessages = Texts["models"];

export function modelMessagesFor(locale: Locale): ModelMessages {
  return textsFor(locale).models;
}
