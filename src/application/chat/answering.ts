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
