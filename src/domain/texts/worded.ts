import { LOCALES, type Locale } from "./locale.ts";

/** One text in every language, because the reader's language is not known yet. */
export type WordsByLocale = Readonly<Record<Locale, string>>;

export function inEveryLanguage(word: (locale: Locale) => string): WordsByLocale {
  return Object.fromEntries(LOCALES.map((locale) => [locale, word(locale)])) as Record<Locale, string>;
}
