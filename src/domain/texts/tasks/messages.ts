import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

export type TaskMessages = Texts["tasks"];

export function taskMessagesFor(locale: Locale): TaskMessages {
  return textsFor(locale).tasks;
}
