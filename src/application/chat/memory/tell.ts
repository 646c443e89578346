import { type MemoryMessages, memoryMessagesFor } from "../../../domain/texts/texts.ts";
import { wording } from "../answering.ts";
import type { ChatParts } from "../parts.ts";
import type { Answer } from "../turn.ts";

/** What a command about the chat's memory answers, in every language. */
export function tell(
  chat: Pick<ChatParts, "messages">,
  word: (words: MemoryMessages) => string,
  ok = true,
): Answer {
  return wording(chat, (locale) => word(memoryMessagesFor(locale)), ok);
}
