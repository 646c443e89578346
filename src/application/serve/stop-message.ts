import { chatKeyOf } from "../../domain/chat/session-id.ts";
import type { StoredMessage } from "../ports/channel.ts";
import type { ChatLeases } from "../ports/chat-leases.ts";

export interface StopMessageDeps {
  /** Ends the answering of a message of this process; false when it is not being answered here. */
  readonly cancel: (messageId: string) => boolean;
  readonly leases: Pick<ChatLeases, "requestStop">;
}

/**
 * Ends the answering of a message, whichever process answers it; what it had begun is taken back there. Another process
 * looks each second whether its chat is to stop. False when nobody answers it.
 */
export async function stopMessage(
  { cancel, leases }: StopMessageDeps,
  { id, state, channel, chatId }: StoredMessage,
): Promise<boolean> {
  if (cancel(id)) return true;
  return state === "working" && leases.requestStop(chatKeyOf(channel, chatId));
}
