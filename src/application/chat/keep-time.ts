import type { ChatQueue } from "./chat-queue.ts";
import type { Sessions } from "./sessions.ts";

export interface DayCutDeps {
  readonly sessions: Pick<Sessions, "cutDue" | "nextCut">;
  readonly queue: Pick<ChatQueue, "run">;
  readonly now: () => Date;
  readonly setTimer: (run: () => void, ms: number) => () => void;
  readonly onTrouble: (cause: unknown) => void;
}

/** A machine that slept or whose clock was set is noticed this soon. */
const LONGEST_WAIT_MS = 15 * 60_000;
const SHORTEST_WAIT_MS = 1000;

/**
 * Cuts sessions over when their day ends, for a process that stays. Each in its chat's turn: a busy chat is cut at its
 * next pause. What was missed while nobody ran is made up for at the start. Returns how to end it.
 */
export function cutSessionsOnTime({ sessions, queue, now, setTimer, onTrouble }: DayCutDeps): () => void {
  const stopping = new AbortController();
  const timer = { cancel: () => {} };
  const { signal } = stopping;
  const tick = async () => {
    try {
      await sessions.cutDue(
        async (chatKey, work) => void (await queue.run(chatKey, work, { signal })),
        signal,
      );
    } catch (cause) {
      onTrouble(cause);
    }
    if (!signal.aborted) wait(sessions.nextCut().getTime() - now().getTime());
  };
  const wait = (ms: number) => {
    const bounded = Math.min(Math.max(ms, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
    timer.cancel = setTimer(() => void tick(), bounded);
  };
  wait(SHORTEST_WAIT_MS);
  return () => {
    stopping.abort();
    timer.cancel();
  };
}
