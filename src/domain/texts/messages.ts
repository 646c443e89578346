import { type TextsAtStart, textsAtStart } from "./at-start.ts";
import type { Locale } from "./locale.ts";

export type { Locale };

/** What every command may have to say: jobs, files, configuration, usage. Nothing here ends in a newline. */
export type Messages = TextsAtStart["work"];

export function messagesFor(locale: Locale): Messages {
  return textsAtStart(locale).work;
}
