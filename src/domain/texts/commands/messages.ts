import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

export type CommandMessages = Texts["commands"];

export function commandMessages(locale: Locale): CommandMessages {
  return textsFor(locale).commands;
}
