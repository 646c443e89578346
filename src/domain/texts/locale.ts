/**
 * The languages PicoClaw speaks, each by its own name. A language's texts are in the folder named by its code. English is their type:
 * another language that lacks a text does not compile.
 */
export const LANGUAGES = { ja: "日本語", en: "English" } as const;

export type Locale = keyof typeof LANGUAGES;

export const LOCALES = Object.keys(LANGUAGES) as [Locale, ...Locale[]];

export function isLocale(name: string | undefined): name is Locale {
  return name !== undefined && Object.hasOwn(LANGUAGES, name);
}

/** The language of a text: Japanese where it has a character that only Japanese has among these languages. */
export function languageOf(text: string): Locale {
  return /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(text) ? "ja" : "en";
}

/**
 * `PICOCLAW_LOCALE`, `locale`, then the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set: `ja*` is Japanese,
 * everything else English.
 */
export function resolveLocale({
  env,
  config,
}: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config?: { readonly locale?: Locale | undefined } | undefined;
}): Locale {
  return (
    localeOf(env.PICOCLAW_LOCALE) ??
    config?.locale ??
    localeOf(env.LC_ALL || env.LC_MESSAGES || env.LANG) ??
    "en"
  );
}

/** `ja_JP.UTF-8`, `ja`, `en-GB`; not `C`, not `jam`. */
function localeOf(name: string | undefined): Locale | undefined {
  const language = name
    ?.trim()
    .toLowerCase()
    .split(/[_.@-]/)[0];
  return isLocale(language) ? language : undefined;
}
