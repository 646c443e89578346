import { chatKeyOf, sessionIdOf } from "../../domain/chat/session-id.ts";
import type { NewSession, Session } from "../ports/chat.ts";
import type { Chat, SessionDeps } from "./session-parts.ts";

/** More sessions of one chat in one day than anybody begins. */
const MOST_PER_DAY = 1000;

/** Opens a session in the place of `from`. When another process was quicker, its session is the answer. */
export async function openNewSession(
  parts: SessionDeps,
  chat: Chat,
  from: string | null,
  carried: string,
): Promise<Session> {
  const { store, clock, now } = parts;
  const chatKey = chatKeyOf(chat.channel, chat.chatId);
  const at = now();
  const day = clock.dayOf(at);
  for (let ordinal = 1; ordinal <= MOST_PER_DAY; ordinal++) {
    const id = sessionIdOf(day, chat.channel, chat.chatId, ordinal);
    if ((await store.find(chatKey, id)) !== null) continue;
    const next: NewSession = {
      chatKey,
      id,
      ...chat,
      openedAt: at.toISOString(),
      cut: { at: clock.nextCut(at).toISOString(), clock: clock.name },
      carried,
    };
    const opened = await store.open(next, from);
    if (opened === "opened") return { ...next, closedAt: null, summary: { text: "", upTo: 0 }, turns: 0 };
    if (opened === "taken") continue;
    const { session } = await store.current(chatKey);
    if (session !== null) return session;
  }
  throw new Error(`no session could be opened for ${chatKey}`);
}

/** Goes on with an older session; null when there is none such. */
export async function resumeSession(
  parts: SessionDeps,
  session: Session,
  sessionId?: string,
): Promise<Session | null> {
  const { store, clock, now } = parts;
  const older = (await store.list(session.chatKey, MOST_PER_DAY)).filter(({ id }) => id !== session.id);
  const wanted =
    sessionId === undefined
      ? older.find(({ turns, openedAt }) => turns > 0 && openedAt <= session.openedAt)
      : older.find(({ id }) => id === sessionId || id.startsWith(`${sessionId}-`));
  if (wanted === undefined) return null;
  const cut = { at: clock.nextCut(now()).toISOString(), clock: clock.name };
  if (!(await store.reopen(session.chatKey, wanted.id, session.id, cut))) return null;
  return store.find(session.chatKey, wanted.id);
}
