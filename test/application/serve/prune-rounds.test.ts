import { expect, test } from "bun:test";
import { startPruning } from "../../../src/application/serve/timed-rounds.ts";
import { createManualTimers } from "../../fakes/timers.ts";

const HOUR = 3_600_000;

test("each kind is pruned after its own days, batch after batch, by the process that has the turn; kinds without a limit are not", async () => {
  const timers = createManualTimers("2026-03-31T00:00:00.000Z");
  const asked: string[] = [];
  const left = { messages: 3, tasks: 0 } as Record<string, number>;
  const turn = { next: 0 };
  const stop = startPruning({
    store: {
      async takeTurn(everyMs) {
        const due = timers.now().getTime() >= turn.next;
        if (due) turn.next = timers.now().getTime() + everyMs;
        return due;
      },
      async forget(kind, before, limit) {
        asked.push(`${kind} before ${before.toISOString().slice(0, 10)}`);
        const some = Math.min(limit, left[kind] ?? 0);
        left[kind] = Math.max(0, (left[kind] ?? 0) - 1);
        return some;
      },
    },
    access: { prune: async () => void asked.push("links") },
    days: (kind) => ({ messages: 30, sessions: 0, usage: 0, tasks: 10, dead_letters: 0 })[kind],
    timers,
    onTrouble: (error) => asked.push(String(error)),
  });
  await timers.advance(2 * HOUR);
  expect(asked).toEqual(["links", ...Array(4).fill("messages before 2026-03-01"), "tasks before 2026-03-21"]);
  await timers.advance(5 * HOUR);
  expect(asked.slice(6)).toEqual(["links", "messages before 2026-03-01", "tasks before 2026-03-21"]);
  stop();
  await timers.advance(24 * HOUR);
  expect(asked).toHaveLength(9);
});
