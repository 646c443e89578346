import { type ChatMessages, chatMessagesFor } from "../../domain/texts/texts.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import type { ChatEvent } from "../ports/conversation.ts";
import type { ChatDeps } from "./chat-turn.ts";

/** What is noticed on the way to a reply, for whoever watches. */
export function createNotice(
  { chat }: Pick<ChatDeps, "chat">,
  word: (chat: ChatMessages) => string,
): Extract<ChatEvent, { type: "notice" }> {
  const texts = inEveryLanguage((locale) => word(chatMessagesFor(locale)));
  return { type: "notice", text: word(chat), texts };
}
