import { texts as en } from "./en/index.ts";
import { texts as ja } from "./ja/index.ts";
import type { Locale } from "./locale.ts";

/** What PicoClaw says to people, by column. English is the type: another language that lacks a text does not compile. */
export type Texts = typeof en;

const TEXTS: Readonly<Record<Locale, Texts>> = { ja, en };

/** Everything but `at-start.ts`, which every command loads. */
export function textsFor(locale: Locale): Texts {
  return TEXTS[locale];
}
