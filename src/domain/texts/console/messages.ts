import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** Every word of the web console. */
export type ConsoleMessages = Texts["console"];

export type JobTone = keyof ConsoleMessages["jobStates"];

export function consoleMessagesFor(locale: Locale): ConsoleMessages {
  return textsFor(locale).console;
}
