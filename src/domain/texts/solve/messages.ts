import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** Everything a task from a forge says to people: on the issue, in the PR/MR, in the terminal. */
export type SolveMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, SolveMessages>> = { ja, en };

export function solveMessagesFor(locale: Locale): SolveMessages {
  return CATALOGUES[locale];
}
