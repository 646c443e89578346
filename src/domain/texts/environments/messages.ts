import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";
/** What people read of environments and their images. */
export type EnvironmentMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, EnvironmentMessages>> = { ja, en };

export function environmentMessages(locale: Locale): EnvironmentMessages {
  return CATALOGUES[locale];
}
