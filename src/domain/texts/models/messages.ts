import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** What is said of models: their failures and what helps. */
export type ModelMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, ModelMessages>> = { ja, en };

export function modelMessagesFor(locale: Locale): ModelMessages {
  return CATALOGUES[locale];
}
