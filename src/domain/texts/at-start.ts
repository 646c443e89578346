import { texts as en } from "./en/at-start.ts";
import { texts as ja } from "./ja/at-start.ts";
import type { Locale } from "./locale.ts";

export type TextsAtStart = typeof en;

const TEXTS: Readonly<Record<Locale, TextsAtStart>> = { ja, en };

/** Apart from `texts.ts`, because every command loads these: all texts would cost each start a millisecond. */
export function textsAtStart(locale: Locale): TextsAtStart {
  return TEXTS[locale];
}
