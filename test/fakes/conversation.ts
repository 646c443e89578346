import type { ReplyPiece } from "../../src/application/chat/reply-words.ts";
import type { Conversation, IncomingMessage, Reply } from "../../src/application/ports/chat.ts";

export function replyOf(text: string, more: Partial<Reply> = {}): Reply {
  return { text, ok: true, sessionId: "20260301-test-c", jobs: [], actions: [], ...more };
}

/** Answers `re: <text>`; a test may hold answers back and see what was asked in which order. */
export function createFakeConversation(
  answer: (message: IncomingMessage, signal: AbortSignal) => Promise<Reply> | Reply = ({ text }) =>
    replyOf(`re: ${text}`),
): Conversation & { readonly asked: IncomingMessage[] } {
  const asked: IncomingMessage[] = [];
  return {
    asked,
    interrupts: ({ text }) => text.startsWith("/stop"),
    steer: () => null,
    needsNoModel: (text) => text.startsWith("/"),
    async handle(message, { signal, onEvent }) {
      asked.push(message);
      onEvent?.({ type: "queued", ahead: 0 });
      return answer(message, signal);
    },
  };
}

/** The words of a reply to `/discard` that did it. */
export function discardedPiece(name: string): ReplyPiece {
  const facts = {
    about: "action",
    action: "discard",
    code: "done",
    status: "discarded",
    name,
    workspace: "/ws",
    done: [],
    conflicts: [],
    failedCmds: 0,
  } as const;
  return { kind: "action", facts };
}
