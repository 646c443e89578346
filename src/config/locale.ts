import { isLocale, type Locale } from "../domain/texts/locale.ts";
import type { Env } from "./environment.ts";

/**
 * `PICOCLAW_LOCALE`, `locale`, then the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set: `ja*` is Japanese,
 * everything else English.
 */
export function resolveLocale({
  env,
  config,
}: {
  readonly env: Env;
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
