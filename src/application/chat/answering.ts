import { type Said, wordSaid } from "../work/report/said.ts";
import type { ChatParts } from "./parts.ts";
import type { Answer } from "./turn.ts";

/** An answer of facts, with its text in the configured language. */
export function answering(
  { messages }: Pick<ChatParts, "messages">,
  said: readonly Said[],
  ok: boolean,
  agent = "",
): Answer {
  return { text: wordSaid(messages.locale, said), said, ok, agent, jobs: [] };
}

export function saidOf({ said, text }: Answer): readonly Said[] {
  return said ?? [{ kind: "text", text }];
}

/** What an agent said itself: this is remembered. Jobs are told from their journals, and our own wording is not kept. */
export function wordsOf({ said, text, ok }: Answer): string {
  if (said === undefined) return ok ? text : "";
  return said
    .flatMap((piece) => (piece.kind === "text" || piece.kind === "heading" ? [piece.text] : []))
    .join("\n");
}
