import type { Change } from "../../domain/jobs/result.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { messagesFor, reportMessages } from "../../domain/texts/messages.ts";
import { type ChatMessages, chatMessagesFor } from "../../domain/texts/texts.ts";
import type { Worded } from "../../domain/texts/worded.ts";
import type { ActionFacts } from "../jobs/action-report.ts";
import { changeLines } from "../jobs/change-lines.ts";
import { type CoderFacts, wordCoder } from "./coder-facts.ts";
import type { JobFacts, RefusalFacts } from "../jobs/job-facts.ts";
import { wordAction } from "../jobs/word-action.ts";
import { paragraphs, wordChatJob, wordEviction, wordRefusal, wordStatus } from "../jobs/job-report.ts";

/**
 * One piece of a reply: plain JSON, kept with the reply and worded for whoever reads it. `text` is what stays as it
 * is: a model's words.
 */
export type ReplyPiece =
  | { readonly kind: "text"; readonly text: string }
  /** What is neither facts nor a model's words: worded for everybody when it was said. */
  | { readonly kind: "worded"; readonly texts: Worded }
  /** Stands above the next piece, on a line of its own. */
  | { readonly kind: "heading"; readonly text: string }
  | NamedText
  | {
      readonly kind: "job";
      readonly facts: JobFacts;
      readonly plan: string;
      /** Said beside the plan; lower ones are no news. */
      readonly risk?: "high";
    }
  | { readonly kind: "refusal"; readonly facts: RefusalFacts }
  /** How a coder came to its job. */
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

/** What a tool loop left behind. */
export interface LoopFacts {
  readonly kind: "loop";
  readonly changes: readonly Change[];
  /** Calls of MCP servers; null where there were none. */
  readonly outward: OutwardFacts | null;
  readonly evictions: readonly Pick<JobFacts, "evicted" | "quotaBytes">[];
  /** New files that match a protected pattern; absent in replies of older versions. */
  readonly guarded?: readonly string[];
  /** The job or group that `/undo` takes back; null where there is nothing. */
  readonly undo: string | null;
}

export interface OutwardFacts {
  readonly succeeded: number;
  readonly total: number;
  /** Of the first that failed. */
  readonly error?: string;
}

/** What a text is filled with is kept as JSON, which makes null of undefined: a text that takes the one takes the other, or cannot be said. */
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

export function wordPieces(locale: Locale, said: readonly ReplyPiece[]): string {
  let text = "";
  for (const [at, piece] of said.entries()) {
    const worded = wordPiece(locale, piece);
    if (worded === "") continue;
    text += text === "" ? worded : `${said[at - 1]?.kind === "heading" ? "\n" : "\n\n"}${worded}`;
  }
  return text;
}

function wordPiece(locale: Locale, piece: ReplyPiece): string {
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
      return wordChatJob(messages, piece.facts, [piece.plan, risk].filter((line) => line !== "").join("\n"));
    }
    case "refusal": {
      const why = wordRefusal(messages, piece.facts);
      return paragraphs([
        reportMessages(locale).status("refused", 0),
        piece.facts.why.kind === "refused" ? messages.workerFailed(why) : chat.proposalUnusable(why),
      ]);
    }
    case "coder":
      return wordCoder(locale, piece.facts);
    case "action":
      return wordAction(messages, piece.facts, "chat");
    case "loop-status": {
      const { failedCmds } = piece;
      return wordStatus(messages, { status: failedCmds > 0 ? "partly" : "applied", failedCmds });
    }
    case "loop":
      return paragraphs([
        changeLines(messages, piece.changes),
        piece.outward === null ? "" : wordOutward(chat, piece.outward),
        ...piece.evictions.map((one) => wordEviction(messages, one)),
        (piece.guarded ?? []).length === 0 ? "" : messages.protectedCreated(piece.guarded ?? []),
        piece.undo === null ? "" : reportMessages(locale).undoHint.chat(piece.undo),
      ]);
  }
}

/** How many calls of MCP servers succeeded, and the first that failed. */
function wordOutward(chat: ChatMessages, { succeeded, total, error }: OutwardFacts): string {
  const head =
    error === undefined
      ? chat.mcpCompleted({ succeeded, total })
      : chat.mcpPartly({ succeeded, total, error });
  return `${head}\n${chat.browserNotUndoable}`;
}

/** More of an output or an error than a chat shows is in the journal. */
const KEPT_CHARACTERS = 2_000;

/** The facts as they are kept with a reply: without what files hold, and with outputs as long as a chat shows them. */
export function toReplyFacts(facts: JobFacts): JobFacts {
  return {
    ...facts,
    commands: facts.commands.map((one) => ({
      ...one,
      command: { ...one.command, content: "" },
      output: cutMiddle(one.output, KEPT_CHARACTERS),
      error: cutMiddle(one.error, KEPT_CHARACTERS),
      changes: [],
    })),
  };
}

type StoredReply = { readonly text: string; readonly said?: readonly ReplyPiece[] };

/** A reply as pieces that can be worded; one of an older version has its text alone, or names texts that are gone. */
export function replyPieces(locale: Locale, { text, said }: StoredReply): readonly ReplyPiece[] {
  const known = said?.every((piece) => piece.kind !== "say" || piece.name in chatMessagesFor(locale));
  return said === undefined || known !== true ? [{ kind: "text", text }] : said;
}

/** A reply in the reader's language. */
export function wordReply(locale: Locale, reply: StoredReply): string {
  return wordPieces(locale, replyPieces(locale, reply));
}
