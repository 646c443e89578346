import * as en from "./en/tasks.ts";
import * as ja from "./ja/tasks.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts of a task from a forge: on the issue, in the pull request, in the terminal. */
export type SolveMessages = typeof en.solveTexts;

export const solveMessagesFor = (locale: Locale): SolveMessages => TEXTS[locale].solveTexts;

/** Texts of task files and worker CLIs. */
export type TaskMessages = typeof en.tasksTexts;

export const taskMessagesFor = (locale: Locale): TaskMessages => TEXTS[locale].tasksTexts;
