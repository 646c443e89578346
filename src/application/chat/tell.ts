import { type MemoryMessages, memoryMessagesFor } from "../../domain/texts/texts.ts";
import { answerInEveryLanguage } from "./answering.ts";
import type { ChatDeps } from "./chat-turn.ts";
import type { Answer } from "./turn.ts";

/** What a command about the chat's memory answers, in every language. */
export function answerAboutMemory(
  chat: Pick<ChatDeps, "messages">,
  word: (words: MemoryMessages) => string,
  ok = true,
): Answer {
  return answerInEveryLanguage(chat, (locale) => word(memoryMessagesFor(locale)), ok);
}
