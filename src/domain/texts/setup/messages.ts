import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** What `init` says, and the comments of the file it writes. */
export type SetupMessages = Texts["setup"];

export function setupMessagesFor(locale: Locale): SetupMessages {
  return textsFor(locale).setup;
}
