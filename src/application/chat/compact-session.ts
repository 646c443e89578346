import { estimateTokens } from "../../domain/chat/estimate-tokens.ts";
import type { JobHistory } from "../coder/job-history.ts";
import type { Session, Turn } from "../ports/chat.ts";
import type { SessionDeps } from "./session-parts.ts";

/** Turns summarised in one go. */
const MOST_COMPACTED_TURNS = 400;

/** Folds all but the newest turns (half the budget) into the summary, when they no longer fit the budget. */
export async function compactSession(
  parts: SessionDeps,
  session: Session,
  signal: AbortSignal,
): Promise<void> {
  const { store, summarise, historyTokens, summaryTokens } = parts;
  const fresh = await store.find(session.chatKey, session.id);
  if (fresh === null) return;
  const { turns } = await store.turns(fresh.chatKey, fresh.id, {
    after: fresh.summary.upTo,
    limit: MOST_COMPACTED_TURNS,
  });
  if (turnTokens(turns) <= historyTokens) return;
  const kept = newestTurns(turns, Math.floor(historyTokens / 2));
  const folded = turns.slice(0, turns.length - kept.length);
  if (folded.length === 0) return;
  const { text } = await summarise({
    chatKey: fresh.chatKey,
    sessionId: fresh.id,
    previous: fresh.summary.text,
    turns: withJobFacts(folded, parts.jobsOf(fresh.chatKey)),
    limitTokens: summaryTokens,
    signal,
  });
  if (signal.aborted) return;
  await store.saveSummary(fresh.chatKey, fresh.id, { text, upTo: folded.at(-1)!.position });
}

/** Answers with what became of their jobs: a summary of words alone would forget the files. */
export function withJobFacts(turns: readonly Turn[], jobs: Pick<JobHistory, "tell">): Turn[] {
  return turns.map((turn) => {
    const facts = turn.role === "assistant" && turn.groupId !== null ? jobs.tell(turn.groupId) : "";
    return facts === "" ? turn : { ...turn, text: turn.text === "" ? facts : `${turn.text}\n${facts}` };
  });
}

/** What a turn costs beside its text. */
const OVERHEAD = 4;

function turnTokens(turns: readonly Turn[]): number {
  return turns.reduce((sum, { text }) => sum + estimateTokens(text) + OVERHEAD, 0);
}

/** The newest turns that fit together, in order; the newest alone is always given. */
export function newestTurns(turns: readonly Turn[], limitTokens: number): Turn[] {
  let left = limitTokens;
  let first = turns.length;
  while (first > 0) {
    left -= turnTokens([turns[first - 1]!]);
    if (left < 0 && first < turns.length) break;
    first -= 1;
  }
  return turns.slice(first);
}
