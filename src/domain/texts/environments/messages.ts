import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** What people read of environments and their images. */
export type EnvironmentMessages = Texts["environments"];

export function environmentMessages(locale: Locale): EnvironmentMessages {
  return textsFor(locale).environments;
}
