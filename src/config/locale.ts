import type { Locale } from "../domain/texts/messages.ts";
import type { Env } from "./environment.ts";

/** `PICOCLAW_LOCALE`, `locale`, then `LC_ALL` or `LANG` when it names ja or en, else ja. */
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
  return language === "ja" || language === "en" ? language : undefined;
}
