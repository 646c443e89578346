import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
import type { EnvironmentMessages } from "./messages.ts";

const CATALOGUES: Readonly<Record<Locale, EnvironmentMessages>> = { ja, en };

export function environmentMessages(locale: Locale): EnvironmentMessages {
  return CATALOGUES[locale];
}
