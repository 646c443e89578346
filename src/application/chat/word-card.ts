import { oneLine } from "../../domain/jobs/format-results.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { type Messages, messagesFor } from "../../domain/texts/messages.ts";
import { chatMessagesFor, checksMessagesFor } from "../../domain/texts/texts.ts";
import { type CoderFacts, wordCoder } from "./coder-facts.ts";
import { describeConflicts } from "../jobs/describe-conflict.ts";
import { explainFailures } from "../jobs/explain-failures.ts";
import type { CommandFacts, JobFacts } from "../jobs/job-facts.ts";
import { countNotRun, withoutOutput, wordAllNotes, wordJobTrouble } from "../jobs/job-report.ts";

/** What a card says of a job, piece by piece: status, files and buttons are drawn from the job as it is by now. */
export interface CardWords {
  /** What went wrong as a whole, and how the coder ended; empty where nothing did. */
  readonly trouble: readonly string[];
  /** Commands that failed, with what they printed. */
  readonly failed: readonly CommandWords[];
  /** Programs that succeeded and printed something. */
  readonly printed: readonly CommandWords[];
  /** What the project's checks showed; empty where nobody asked them. */
  readonly checks: string;
  /** How the coder came here: earlier plans, its last words, the cost. */
  readonly way: readonly string[];
  /** What a person may want to know and need not read. */
  readonly caveats: readonly string[];
}

export interface CommandWords {
  readonly command: string;
  readonly error: string;
  readonly output: string;
}

export interface CardPieces {
  readonly facts: JobFacts;
  readonly coder?: CoderFacts;
  readonly risk?: "high";
}

export function wordCard(locale: Locale, { facts, coder, risk }: CardPieces): CardWords {
  const messages = messagesFor(locale);
  const words = chatMessagesFor(locale);
  const { commands, conflicts, jobId, gitCommit } = facts;
  const trouble = [
    risk === undefined ? "" : words.riskNote(risk),
    wordJobTrouble(messages, facts, "chat"),
    ...explainFailures(messages, facts.workspace, commands),
    countNotRun(facts) > 0 ? messages.notRun(countNotRun(facts)) : "",
    conflicts.length > 0 ? describeConflicts(messages, jobId, conflicts, "chat") : "",
  ];
  const checks = coder?.checks === undefined ? "" : checksMessagesFor(locale).line(coder.checks);
  return {
    trouble: trouble.filter((line) => line !== ""),
    failed: commands.filter(({ success }) => !success).map(commandWords),
    printed: commands.filter(hasPrinted).map(commandWords),
    checks,
    way: coder === undefined ? [] : cardReplyRoute(locale, coder, checks),
    caveats: cardCaveats(messages, facts, gitCommit),
  };
}

function hasPrinted({ command, success, output }: CommandFacts): boolean {
  return success && command.type === "shell_command" && output.trim() !== "";
}

function commandWords(one: CommandFacts): CommandWords {
  const { command, error } = withoutOutput(one);
  // What an edit reports is for the model that made it.
  const output = command.type === "file_edit" ? "" : one.output.trimEnd();
  const shown =
    command.type === "shell_command" ? oneLine(command.target) : `${command.action} ${command.target}`;
  return { command: shown, error, output };
}

/** Everything that is said of the coder's way beside what its checks showed, which stands at the head of the card. */
function cardReplyRoute(locale: Locale, coder: CoderFacts, checks: string): string[] {
  return wordCoder(locale, coder, { counted: false })
    .split("\n")
    .filter((line) => line !== "" && line !== checks);
}

function cardCaveats(messages: Messages, facts: JobFacts, gitCommit: string | undefined): string[] {
  return [
    ...(gitCommit === undefined ? [] : [messages.gitCommit(gitCommit)]),
    ...wordAllNotes(messages, facts),
  ];
}
