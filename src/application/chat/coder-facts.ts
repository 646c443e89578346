import type { Locale } from "../../domain/texts/locale.ts";
import { type ChatMessages, chatMessagesFor, checksMessagesFor } from "../../domain/texts/texts.ts";
import type { ChecksFacts } from "../../domain/checks/checks-facts.ts";
import type { RedReason } from "../../domain/jobs/job-status.ts";
import type { CoderStopReason } from "../coder/coder-end.ts";

/** The way of a coder to its result: plain JSON, kept with the reply. */
export interface CoderFacts {
  readonly attempts: number;
  /** What is still wrong; absent when nothing is. */
  readonly red?: RedReason;
  readonly brief?: string;
  readonly stopped?: CoderStopReason;
  /** First lines of the plans that a later one replaced. */
  readonly tried: readonly string[];
  /** The coder's last words, where it had no patch any more. */
  readonly words: string;
  readonly costHint: string;
  readonly costUsd: number;
  /** What the project's checks showed, or why they did not run. */
  readonly checks?: ChecksFacts;
  /** Nothing of the draft was kept. */
  readonly isDropped: boolean;
}

/** `counted`: the attempts are counted here; a card does that at its head. */
export function wordCoder(
  locale: Locale,
  facts: CoderFacts,
  { counted }: { readonly counted: boolean } = { counted: true },
): string {
  const chat = chatMessagesFor(locale);
  const checks = checksMessagesFor(locale);
  const { red, brief, stopped, words, costHint, costUsd } = facts;
  const lines = [
    facts.isDropped && red !== undefined ? chat.draftDropped(red, facts.attempts) : "",
    ...(facts.checks === undefined ? [] : [checks.line(facts.checks), ...checks.remarks(facts.checks)]),
    red === undefined ? "" : chat.stillRed(red, brief ?? ""),
    stopped === undefined ? "" : wordStopped(chat, locale, stopped),
    wordTried(chat, facts, counted),
    words,
    costUsd > 0 ? chat.coderCost(costUsd, costHint) : "",
  ];
  return lines.filter((line) => line !== "").join("\n");
}

function wordTried(chat: ChatMessages, { attempts, tried }: CoderFacts, counted: boolean): string {
  if (tried.length === 0) return "";
  return counted ? chat.attemptsTaken(attempts, tried) : chat.triedBefore(tried);
}

function wordStopped(chat: ChatMessages, locale: Locale, stopped: CoderStopReason): string {
  switch (stopped.why) {
    case "attempts":
      return chat.coderStopped.attempts(stopped.limit);
    case "same":
      return chat.coderStopped.same;
    case "gave-up":
      return chat.coderStopped.gaveUp;
    case "unanswered":
      // A reply of an older version holds one language.
      return typeof stopped.text === "string" ? stopped.text : stopped.text[locale];
  }
}
