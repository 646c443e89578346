import { isLocale, type Locale } from "../domain/texts/locale.ts";
import type { Env } from "./environment.ts";

/** `PICOCLAW_LOCALE`, `locale`, then `LC_ALL` or `LANG` when it names a language of PicoClaw, else ja. */
export function resolveLocale({
  env,
  config,
}: {
  readonly env: Env;
  readonly config?: { readonly locale?: Locale | undefined } | undefined;
}): Locale {
  return (
    localeOf(env.PICOCLAW_LOCALE) ?? config?.locale ?? localeOf(env.LC_ALL) ?? localeOf(env.LANG) ?? "ja"
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
