import type { Session } from "../ports/chat.ts";
import { withJobFacts } from "./compact-session.ts";
import { openNewSession } from "./open-session.ts";
import type { SessionDeps } from "./session-parts.ts";

export interface CutOverResult {
  /** The session to go on with: a new one, or the old one when its note could not be saved. */
  readonly session: Session;
  readonly previousId: string;
  /** False: the note could not be saved, so the session stays. */
  readonly cut: boolean;
  /** What is remembered of the day; empty when nothing was said. */
  readonly note: string;
}

/** The most of a day that goes into one summary. */
const MOST_SUMMARISED_TURNS = 400;

/**
 * Ends a session: (1) summarise what is not yet summarised, (2) save the daily note, (3) close it and open the next
 * one in a single step. The note is saved before anything is given up, and each step can be done again: a process
 * killed in between leaves the session as it was, or ended with its note.
 */
export async function cutOver(
  parts: SessionDeps,
  session: Session,
  options: { readonly carry: boolean; readonly signal: AbortSignal },
): Promise<CutOverResult> {
  const { store, now, log, summarise, summaryTokens } = parts;
  const { chatKey, id } = session;
  const fields = { session_id: id, chat: chatKey };
  let note = "";
  try {
    const saved = await store.note(chatKey, id);
    if (saved !== null && saved.turns === session.turns) note = saved.text;
    else {
      const after = Math.max(session.summary.upTo, session.turns - MOST_SUMMARISED_TURNS);
      const { turns } = await store.turns(chatKey, id, { after, limit: MOST_SUMMARISED_TURNS });
      const previous = [session.carried, session.summary.text].filter((text) => text !== "").join("\n\n");
      note =
        turns.length === 0
          ? previous
          : (
              await summarise({
                chatKey,
                sessionId: id,
                previous,
                turns: withJobFacts(turns, parts.jobsOf(chatKey)),
                limitTokens: summaryTokens,
                signal: options.signal,
              })
            ).text;
      if (session.turns > 0)
        await store.saveNote({
          chatKey,
          sessionId: id,
          text: note,
          turns: session.turns,
          savedAt: now().toISOString(),
        });
    }
  } catch (cause) {
    log.error("session", "Daily note not saved, session kept", "session.cut_over_failed", {
      ...fields,
      error: String(cause),
    });
    return { session, previousId: id, cut: false, note: "" };
  }
  const { channel, chatId } = session;
  const next = await openNewSession(parts, { channel, chatId }, id, options.carry ? note : "");
  log.info("session", "Session cut over", "session.cut_over", { ...fields, next_session_id: next.id });
  return { session: next, previousId: id, cut: true, note };
}
