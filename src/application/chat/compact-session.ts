import type { Session } from "../ports/sessions.ts";
import { newest, tokensOf } from "./fit-turns.ts";
import type { SessionParts } from "./sessions.ts";

/** Turns summarised in one go. */
const MOST_TURNS = 400;

/** Folds all but the newest turns (half the budget) into the summary, when they no longer fit the budget. */
export async function compactSession(
  parts: SessionParts,
  session: Session,
  signal: AbortSignal,
): Promise<void> {
  const { store, summarise, historyTokens, summaryTokens } = parts;
  const fresh = await store.find(session.chatKey, session.id);
  if (fresh === null) return;
  const { turns } = await store.turns(fresh.chatKey, fresh.id, {
    after: fresh.summary.upTo,
    limit: MOST_TURNS,
  });
  if (tokensOf(turns) <= historyTokens) return;
  const kept = newest(turns, Math.floor(historyTokens / 2));
  const folded = turns.slice(0, turns.length - kept.length);
  if (folded.length === 0) return;
  const { text } = await summarise({
    chatKey: fresh.chatKey,
    sessionId: fresh.id,
    previous: fresh.summary.text,
    turns: folded,
    limitTokens: summaryTokens,
    signal,
  });
  if (signal.aborted) return;
  await store.saveSummary(fresh.chatKey, fresh.id, { text, upTo: folded.at(-1)!.position });
}
