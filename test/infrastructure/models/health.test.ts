import { expect, test } from "bun:test";
import type { ModelCheck } from "../../../src/application/ports/models.ts";
import { watchHealth } from "../../../src/infrastructure/models/watch-models.ts";

const well: ModelCheck = { ok: true, detail: "pulled" };
const ill: ModelCheck = { ok: false, failure: { code: "unreachable", message: "gone", retryable: true } };

test("looks at intervals, tells only changes, and stops", async () => {
  const results = [well, well, ill, ill, well];
  const told: boolean[] = [];
  let due: (() => void) | undefined;
  let waitedMs = 0;
  let cancelled = 0;
  let looked = Promise.withResolvers<void>();
  const watch = watchHealth({
    model: { check: async () => results.shift() ?? well },
    intervalMs: 60_000,
    timeoutMs: 1000,
    onChange: (check) => told.push(check.ok),
    after: (ms, call) => {
      waitedMs = ms;
      due = call;
      looked.resolve();
      return () => {
        cancelled += 1;
      };
    },
  });
  for (let look = 0; look < 5; look += 1) {
    await looked.promise;
    looked = Promise.withResolvers<void>();
    if (look < 4) due?.();
  }
  expect(told).toEqual([true, false, true]);
  expect(waitedMs).toBe(60_000);
  expect(watch.latest()).toEqual(well);
  watch.stop();
  expect(cancelled).toBe(1);
});
