import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** Everything a task from a forge says to people: on the issue, in the PR/MR, in the terminal. */
export interface SolveMessages {
  readonly locale: Locale;
  // The progress comment
  working(title: string): string;
  readonly ended: Readonly<Record<"done" | "failed" | "stopped" | "paused", string>>;
  readonly phases: Readonly<Record<"gather" | "plan" | "prepare" | "work" | "verify" | "publish", string>>;
  steps(done: number, max: number): string;
  lastAction(command: string, exitCode: number): string;
  readonly howToStop: string;
  readonly howToResume: string;
  pullOpened(url: string): string;
  takenIntoAccount(count: number): string;
  // The PR/MR
  pullTitle(issueTitle: string): string;
  readonly summaryHeading: string;
  readonly planHeading: string;
  readonly commandsHeading: string;
  readonly checksHeading: string;
  readonly notesHeading: string;
  readonly noChecks: string;
  checkLine(command: string, exitCode: number, seconds: string): string;
  readonly tableHead: readonly [command: string, result: string, time: string];
  more(count: number): string;
  readonly footer: string;
  readonly followUpMessage: string;
  // Notes
  readonly baseMoved: string;
  readonly baseConflicts: string;
  checkAbsent(command: string): string;
  checksFailed(commands: readonly string[]): string;
  installWarning(text: string): string;
  // Ends, each one helpful sentence
  failure(kind: string, detail: string): string;
  patchInstead(patch: string): string;
  readonly patchTooLarge: string;
  // The terminal
  alreadyRunning(url: string): string;
  notAnItem(url: string): string;
  noToken(forge: string, variable: string): string;
  unknownWorker(kind: string, known: readonly string[]): string;
  started(url: string): string;
  resumed(url: string): string;
}

const CATALOGUES: Readonly<Record<Locale, SolveMessages>> = { ja, en };

export function solveMessagesFor(locale: Locale): SolveMessages {
  return CATALOGUES[locale];
}
