import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** What only LINE says. */
export type LineMessages = Texts["line"];

export function lineMessagesFor(locale: Locale): LineMessages {
  return textsFor(locale).line;
}
