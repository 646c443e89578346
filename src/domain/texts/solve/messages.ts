import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** Everything a task from a forge says to people: on the issue, in the PR/MR, in the terminal. */
export type SolveMessages = Texts["solve"];

export function solveMessagesFor(locale: Locale): SolveMessages {
  return textsFor(locale).solve;
}
