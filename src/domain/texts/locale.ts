/** The languages PicoClaw speaks, each by its own name. A language's texts are in the folder named by its code. */
export const LANGUAGES = { ja: "日本語", en: "English" } as const;

export type Locale = keyof typeof LANGUAGES;

export const LOCALES = Object.keys(LANGUAGES) as [Locale, ...Locale[]];

export function isLocale(name: string | undefined): name is Locale {
  return name !== undefined && Object.hasOwn(LANGUAGES, name);
}
