import type { Locale } from "../../domain/texts/locale.ts";
import { type ChatMessages, chatMessagesFor } from "../../domain/texts/texts.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import type { JobAction } from "../../domain/jobs/job-actions.ts";
import type { Model } from "../ports/models.ts";
import { type ReplyPiece, say, wordPieces } from "./reply-words.ts";
import type { ChatDeps } from "./chat-turn.ts";
import type { Answer, ChatTurn } from "./turn.ts";

/** An answer of facts, with its text in the configured language. */
export function createAnswer(
  { messages }: Pick<ChatDeps, "messages">,
  said: readonly ReplyPiece[],
  ok: boolean,
  agent = "",
): Answer {
  return { text: wordPieces(messages.locale, said), said, ok, agent, jobs: [] };
}

/** What a command answers, in every language. */
export function answerInEveryLanguage(
  parts: Pick<ChatDeps, "messages">,
  word: (locale: Locale) => string,
  ok = true,
): Answer {
  return createAnswer(parts, [{ kind: "worded", texts: inEveryLanguage(word) }], ok);
}

/** Which model stood in for a shipped default that is not installed; said once in a chat's session. */
export function standInNote(
  { insteadOf: wanted, model }: Pick<Model, "insteadOf" | "model">,
  { history }: Pick<ChatTurn, "history">,
): ReplyPiece[] {
  return wanted === undefined || history.length > 0 ? [] : [say("insteadOf", wanted, model)];
}

/** A button, for readers of each language. */
export function createLabelledAction(
  { chat }: Pick<ChatDeps, "chat">,
  word: (chat: ChatMessages) => string,
  message: string,
): JobAction {
  const labels = inEveryLanguage((locale) => word(chatMessagesFor(locale)));
  return { label: word(chat), labels, message };
}

export function answerPieces({ said, text }: Answer): readonly ReplyPiece[] {
  return said ?? [{ kind: "text", text }];
}

/** What an agent said itself: this is remembered. Jobs are told from their journals, and our own wording is not kept. */
export function rememberedWords({ said, text, ok }: Answer): string {
  if (said === undefined) return ok ? text : "";
  return said
    .flatMap((piece) => (piece.kind === "text" || piece.kind === "heading" ? [piece.text] : []))
    .join("\n");
}
