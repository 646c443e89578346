import { chatKeyOf } from "../../domain/chat/session-id.ts";
import { openNewSession } from "./open-session.ts";
import type { Chat, SessionDeps } from "./session-parts.ts";

/** `unknown`: nothing was said in the chat to fork from. `taken`: the other one has begun already. */
export type ForkResult = "forked" | "unknown" | "taken";

/** More turns than any budget takes. */
const MOST_FORKED_TURNS = 400;

/** Another chat begins with what this one knows; from there each goes its own way. */
export async function forkSession(parts: SessionDeps, from: Chat, to: Chat): Promise<ForkResult> {
  const { store } = parts;
  const fromKey = chatKeyOf(from.channel, from.chatId);
  const { session } = await store.current(fromKey);
  if (session === null || (session.turns === 0 && session.carried === "")) return "unknown";
  const toKey = chatKeyOf(to.channel, to.chatId);
  if ((await store.current(toKey)).session !== null) return "taken";
  const { carried, summary } = session;
  const { turns } = await store.lastTurns(fromKey, session.id, MOST_FORKED_TURNS, summary.upTo);
  const memory = [carried, summary.text].filter((text) => text !== "").join("\n\n");
  const opened = await openNewSession(parts, to, null, memory);
  await store.append(
    toKey,
    opened.id,
    turns.map(({ at, role, text, agent, groupId }) => ({ at, role, text, agent, groupId })),
  );
  return "forked";
}
