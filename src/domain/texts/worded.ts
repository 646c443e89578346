import { LOCALES, type Locale } from "./locale.ts";

/** One text in every language, because the reader's language is not known yet. Each is worded when it is read first. */
export type WordsByLocale = Readonly<Record<Locale, string>>;

export function inEveryLanguage(word: (locale: Locale) => string): WordsByLocale {
  const worded: Partial<Record<Locale, string>> = {};
  const once = (locale: Locale) => ({ enumerable: true, get: () => (worded[locale] ??= word(locale)) });
  return Object.defineProperties({}, Object.fromEntries(LOCALES.map((l) => [l, once(l)]))) as WordsByLocale;
}
