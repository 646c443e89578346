import { LOCALES, type Locale } from "./locale.ts";

/** One text in every language, for whoever reads it later. */
export type Worded = Readonly<Record<Locale, string>>;

export function inEveryLanguage(word: (locale: Locale) => string): Worded {
  return Object.fromEntries(LOCALES.map((locale) => [locale, word(locale)])) as Record<Locale, string>;
}
