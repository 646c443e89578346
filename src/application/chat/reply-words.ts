import { type ChecksRecord, isJudgedGreen } from "../../domain/checks/findings.ts";
import {
  type Change,
  type CommandResult,
  type Note,
  nameByNumber,
  type RanJob,
  type RedReason,
  type RefusedJob,
  toPlainResult,
} from "../../domain/jobs/result.ts";
import { type ChatMessages, chatMessagesFor } from "../../domain/texts/chat.ts";
import { checksMessagesFor } from "../../domain/texts/checks.ts";
import { cutMiddle, oneLine } from "../../domain/texts/format-text.ts";
import { type Messages, messagesFor, reportMessages } from "../../domain/texts/jobs.ts";
import {
  changeLines,
  describeConflicts,
  type ShownAt,
  type Surface,
  wordNote,
} from "../../domain/texts/jobs-notes.ts";
import {
  countNotRun,
  explainFailure,
  paragraphs,
  withoutOutput,
  wordAllNotes,
  wordChatJob,
  wordError,
  wordEviction,
  wordJobTrouble,
  wordRefusal,
  wordStatus,
} from "../../domain/texts/jobs-report.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import type { WordsByLocale } from "../../domain/texts/worded.ts";
import { type ActionFacts, wordAction } from "../jobs/action-report.ts";
import type { CoderStopReason, CoderStory } from "../ports/coder.ts";

/** How a coder reached its result; plain JSON, stored with the reply. */
export interface CoderFacts extends Omit<CoderStory, "red" | "stopped"> {
  /** The remaining errors; absent when there are none. */
  readonly red?: RedReason;
  readonly brief?: string;
  readonly stopped?: CoderStopReason;
  readonly costUsd: number;
  readonly checks?: ChecksRecord;
  /** Nothing of the draft was kept. */
  readonly isDropped: boolean;
}

/** A card counts the attempts at its head, the cost beside it, and may show what is still red at its commands (`redShown`). */
function wordCoder(
  locale: Locale,
  facts: CoderFacts,
  { counted, redShown }: { readonly counted: boolean; readonly redShown: boolean },
): string {
  const chat = chatMessagesFor(locale);
  const { red, brief, stopped, words, costUsd } = facts;
  const said = wordError(messagesFor(locale), brief ?? "");
  const lines = [
    facts.isDropped && red !== undefined ? chat.draftDropped(red, facts.attempts) : "",
    ...(facts.checks === undefined ? [] : wordChecked(locale, facts.checks, facts.isDropped)),
    red === undefined || redShown || isSaidBeside(facts) ? "" : chat.stillRed(red, said),
    stopped === undefined ? "" : wordStopped(chat, locale, stopped),
    facts.best === undefined ? "" : chat.keptBest(facts.best, facts.attempts),
    wordTried(chat, facts, counted),
    words === "" || (red === undefined && isJudgedGreen(facts.checks))
      ? words
      : `${reportMessages(locale).ownWords}\n${words}`,
    counted && costUsd > 0 ? chat.coderCost(costUsd) : "",
  ];
  return lines.filter((line) => line !== "").join("\n");
}

/** The facts about the checks that the first line of the reply leaves out. `isDropped`: there is no such line. */
function wordChecked(locale: Locale, facts: ChecksRecord, isDropped: boolean): string[] {
  const checks = checksMessagesFor(locale);
  const isSaid = !isDropped && checks.headline(facts) !== "";
  return [...(isSaid ? checks.beside(facts) : [checks.line(facts)]), ...checks.remarks(facts)];
}

/** The checks in the first line. What got worse is in the status of a job that was kept back, and not in that of one that landed. */
function wordFirst(locale: Locale, { checks, facts }: Extract<ReplyPiece, { kind: "job" }>): string {
  if (checks === undefined) return "";
  const words = checksMessagesFor(locale);
  const isWorse = checks.verdict === "worse" && facts.status === "applied";
  return isWorse ? words.brief(checks) : words.headline(checks);
}

/** Whether another part of the reply says it: the job names the hook, or the remarks about the checks name the red tests. */
function isSaidBeside({ red, checks }: CoderFacts): boolean {
  return red === "hook" || (red === "still-red" && (checks?.stillRed ?? []).length > 0);
}

/** The plan of a job contains all attempts; for a discarded draft only this list names them. */
function wordTried(chat: ChatMessages, { attempts, tried, isDropped }: CoderFacts, counted: boolean): string {
  if (tried.length === 0) return "";
  if (!isDropped) return counted ? chat.attemptsTaken(attempts, []) : "";
  return counted ? chat.attemptsTaken(attempts, tried) : chat.triedBefore(tried);
}

function wordStopped({ coderStopped }: ChatMessages, locale: Locale, stopped: CoderStopReason): string {
  if (stopped.why === "attempts") return coderStopped.attempts(stopped.limit, stopped.isLocal === true);
  if (stopped.why !== "unanswered") return coderStopped[stopped.why];
  // A reply of an older version has one language.
  return typeof stopped.text === "string" ? stopped.text : stopped.text[locale];
}

/** One piece of a reply: plain JSON, worded in the reader's language. `text` is a model's own words and is never reworded. */
export type ReplyPiece =
  | { readonly kind: "text"; readonly text: string }
  /** A text that is neither facts nor a model's words: worded in every language when it was sent. */
  | { readonly kind: "worded"; readonly texts: WordsByLocale }
  /** A line of its own above the next piece. */
  | { readonly kind: "heading"; readonly text: string }
  | NamedText
  | {
      readonly kind: "job";
      readonly facts: RanJob;
      readonly plan: string;
      /** Shown beside the plan; lower risks are not. */
      readonly risk?: "high";
      /** The results of the project's checks; its first line states them. */
      readonly checks?: ChecksRecord;
    }
  | { readonly kind: "refusal"; readonly facts: RefusedJob }
  | { readonly kind: "coder"; readonly facts: CoderFacts }
  | { readonly kind: "action"; readonly facts: ActionFacts }
  | { readonly kind: "loop-status"; readonly failedCmds: number }
  | LoopFacts;

/** A text of the conversation by its name, with what it is filled with. */
export interface NamedText {
  readonly kind: "say";
  readonly name: keyof ChatMessages;
  readonly with: readonly unknown[];
}

export interface LoopFacts {
  readonly kind: "loop";
  readonly changes: readonly Change[];
  /** Calls of MCP servers; null where there were none. */
  readonly outward: OutwardFacts | null;
  readonly evictions: readonly Pick<RanJob, "evicted" | "quotaBytes">[];
  /** New files that match a protected pattern; absent in replies of older versions. */
  readonly guarded?: readonly string[];
  /** Hosts that its commands reached or were refused, and secret files that they may not read. */
  readonly notes?: readonly Note[];
  /** Commands that failed in jobs that landed, and why; absent in replies of older versions. */
  readonly failures?: readonly { readonly command: string; readonly why: string }[];
  /** The job or group that `/undo` undoes; null if there is none. */
  readonly undo: string | null;
}

export interface OutwardFacts {
  readonly succeeded: number;
  readonly total: number;
  /** Of the first that failed. */
  readonly error?: string;
}

/** The arguments of a text are stored as JSON, which turns undefined into null: a text that takes undefined must take null. */
type NamedTextKey = {
  [Name in keyof ChatMessages]: ChatMessages[Name] extends string
    ? Name
    : ChatMessages[Name] extends (...args: infer Args) => string
      ? undefined extends Args[number]
        ? null extends Args[number]
          ? Name
          : never
        : Name
      : never;
}[keyof ChatMessages];

export function say<Name extends NamedTextKey>(
  name: Name,
  ...filledWith: ChatMessages[Name] extends (...args: infer Args) => string ? Args : []
): NamedText {
  return { kind: "say", name, with: filledWith };
}

/** A text about names, each said once; nothing without any. */
export function sayNames(name: "mcpCalled" | "processesTouched" | "webRead", names: readonly string[]) {
  return names.length === 0 ? [] : [say(name, [...new Set(names)])];
}

/** `at`: where the reader types the commands that a reply names; in the console, buttons say them. */
export function wordPieces(locale: Locale, said: readonly ReplyPiece[], at: ShownAt = "chat"): string {
  let text = "";
  for (const [index, piece] of said.entries()) {
    const above = said[index - 1];
    const worded = wordPiece(locale, piece, at, above?.kind === "job" ? above.facts : undefined);
    if (worded === "") continue;
    text += text === "" ? worded : `${above?.kind === "heading" ? "\n" : "\n\n"}${worded}`;
  }
  return text;
}

/** `job`: what a coder reports on is right above. */
function wordPiece(locale: Locale, piece: ReplyPiece, shownAt: ShownAt, job?: RanJob): string {
  const at = shownAt === "console" ? "chat" : shownAt;
  const messages = messagesFor(locale);
  const chat = chatMessagesFor(locale);
  switch (piece.kind) {
    case "text":
    case "heading":
      return piece.text;
    case "worded":
      return piece.texts[locale];
    case "say": {
      const words: unknown = chat[piece.name];
      return typeof words === "function" ? String(words(...piece.with)) : String(words ?? "");
    }
    case "job": {
      const risk = piece.risk === undefined ? "" : chat.riskNote(piece.risk);
      const plan = [piece.plan, risk].filter((line) => line !== "").join("\n");
      return wordChatJob(messages, piece.facts, plan, {
        checks: wordFirst(locale, piece),
        at,
        isJudged: isJudgedGreen(piece.checks),
      });
    }
    case "refusal": {
      const why = wordRefusal(messages, piece.facts);
      return paragraphs([
        reportMessages(locale).status("refused", 0),
        piece.facts.why.kind === "refused" ? messages.workerFailed(why) : chat.proposalUnusable(why),
      ]);
    }
    case "coder": {
      const { red } = piece.facts;
      const shows = red === "failing" ? (job?.failedCmds ?? 0) > 0 : red === "worse" && job?.status === red;
      return wordCoder(locale, piece.facts, { counted: true, redShown: shows });
    }
    case "action":
      return wordAction(messages, piece.facts, shownAt);
    case "loop-status": {
      const { failedCmds } = piece;
      return wordStatus(messages, { status: failedCmds > 0 ? "partly" : "applied", failedCmds });
    }
    case "loop":
      return paragraphs([
        (piece.failures ?? [])
          .map(({ command, why }) => `✗ ${command}: ${wordError(messages, why)}`)
          .join("\n"),
        changeLines(messages, piece.changes),
        piece.outward === null ? "" : wordOutward(messages, chat, piece.outward),
        ...piece.evictions.map((one) => wordEviction(messages, one)),
        (piece.guarded ?? []).length === 0 ? "" : messages.protectedCreated(piece.guarded ?? []),
        (piece.notes ?? []).map((note) => wordNote(messages, note)).join("\n"),
        piece.undo === null || shownAt === "console"
          ? ""
          : reportMessages(locale).swapHint(at, "undo", piece.undo),
      ]);
  }
}

function wordOutward(messages: Messages, chat: ChatMessages, calls: OutwardFacts): string {
  const failedCmds = calls.total - calls.succeeded;
  const said = wordStatus(messages, { status: calls.succeeded === 0 ? "no-change" : "partly", failedCmds });
  const head = calls.error === undefined ? chat.mcpCompleted(calls) : chat.mcpPartly(said, calls);
  return `${head}\n${chat.browserNotUndoable}`;
}

/** More of an output or an error than a chat shows is in the journal. */
const KEPT_CHARACTERS = 2_000;

/** The facts as stored with a reply: without file contents, and with outputs as long as a chat shows them. */
export function toReplyFacts(facts: RanJob): RanJob {
  const plain = toPlainResult(facts);
  return {
    ...plain,
    commands: plain.commands.map((one) => ({
      ...one,
      command: { ...one.command, content: "" },
      output: cutMiddle(one.output, KEPT_CHARACTERS),
      error: cutMiddle(one.error, KEPT_CHARACTERS),
      changes: [],
    })),
  };
}

type StoredReply = { readonly text: string; readonly said?: readonly ReplyPiece[] };

/** A reply as pieces that can be worded. A reply of an older version may have only its text, or name texts that no longer exist. */
export function replyPieces(locale: Locale, { text, said }: StoredReply): readonly ReplyPiece[] {
  const known = said?.every((piece) => piece.kind !== "say" || piece.name in chatMessagesFor(locale));
  return said === undefined || known !== true ? [{ kind: "text", text }] : said;
}

export function wordReply(locale: Locale, reply: StoredReply, at: Surface = "chat"): string {
  return wordPieces(locale, replyPieces(locale, reply), at);
}

/** The content of a job's card, piece by piece: status, files and buttons are drawn from the current job. */
export interface CardWords {
  /** The overall error, and how the coder ended; empty if there was no error. */
  readonly trouble: readonly string[];
  /** Commands that failed, with what they printed. */
  readonly failed: readonly CommandWords[];
  /** Programs that succeeded and printed something. */
  readonly printed: readonly CommandWords[];
  readonly checks: string;
  /** What is above a plan that no green check supports; empty where one does. */
  readonly ownWords: string;
  /** How the coder got here: earlier plans, its last words, the cost. */
  readonly way: readonly string[];
  /** Optional facts that a person may want to know. */
  readonly caveats: readonly string[];
}

export interface CommandWords {
  readonly command: string;
  readonly error: string;
  readonly output: string;
}

export interface CardPieces {
  readonly facts: RanJob;
  readonly coder?: CoderFacts;
  readonly risk?: "high";
}

export function wordCard(locale: Locale, { facts: job, coder, risk }: CardPieces): CardWords {
  const facts = nameByNumber(job);
  const messages = messagesFor(locale);
  const words = chatMessagesFor(locale);
  const { commands, conflicts, jobId, gitCommit, workspace } = facts;
  const failed = commands.filter(({ success }) => !success);
  const trouble = [
    risk === undefined ? "" : words.riskNote(risk),
    // The error is shown at its command.
    failed.length > 0 && facts.ending === undefined ? "" : wordJobTrouble(messages, facts, "chat"),
    countNotRun(facts) > 0 ? messages.notRun(countNotRun(facts)) : "",
    conflicts.length > 0 ? describeConflicts(messages, jobId, conflicts, "chat") : "",
  ];
  const checks = coder?.checks === undefined ? "" : checksMessagesFor(locale).line(coder.checks);
  const redShown = coder?.red === "worse" ? checks !== "" : coder?.red === "failing" && failed.length > 0;
  const way = coder === undefined ? "" : wordCoder(locale, coder, { counted: false, redShown });
  return {
    trouble: trouble.filter((line) => line !== ""),
    failed: failed.map((one) => commandWords(messages, one, explainFailure(messages, workspace, one) ?? "")),
    printed: commands
      .filter(({ command, success, output }) => success && command.type === "shell_command" && output.trim())
      .map((one) => commandWords(messages, one)),
    checks,
    ownWords: isJudgedGreen(coder?.checks) ? "" : reportMessages(locale).ownWords,
    way: way.split("\n").filter((line) => line !== "" && line !== checks),
    caveats: [
      ...(gitCommit === undefined ? [] : [messages.gitCommit(gitCommit)]),
      ...wordAllNotes(messages, facts),
    ],
  };
}

function commandWords(messages: Messages, one: CommandResult, why = ""): CommandWords {
  const { command, error } = withoutOutput(one);
  // The report of an edit is for the model that made it.
  const output = command.type === "file_edit" ? "" : one.output.trimEnd();
  const shown =
    command.type === "shell_command" ? oneLine(command.target) : `${command.action} ${command.target}`;
  return { command: shown, error: wordError(messages, error), output: output || why };
}
