/** Checks of several drafts: one baseline for all. */
import { expect, test } from "bun:test";
import { shareBaseline } from "../../../src/application/chat/run-candidates.ts";
import { type BaselineDeps, measureBaseline } from "../../../src/application/checks/baseline.ts";
import type { Draft } from "../../../src/application/ports/jobs-draft.ts";

/** A draft whose checks take a moment. */
function createDraft() {
  const seen = { ran: 0 };
  const draft = {
    async check() {
      seen.ran++;
      await Bun.sleep(5);
      return { ok: true, runs: [] } as const;
    },
  } as unknown as Draft;
  return { seen, draft };
}

const deps: BaselineDeps = {
  checks: [],
  settings: { command: null, timeout: 10, auto_limit: 10, network: false, enabled: "always" },
  memory: { fingerprint: () => "same", recall: () => null, keep: () => {}, running: new Map() },
  now: () => 0,
  signal: new AbortController().signal,
};

test("the baseline is measured once, and again where its draft ended before it did", async () => {
  const { seen, draft } = createDraft();
  const measure = shareBaseline();
  const gone = { check: async () => ({ ok: false, why: "aborted", message: "" }) as const };
  const [first, second, third] = await Promise.all([
    measure(deps, gone),
    measure(deps, draft),
    measure(deps, draft),
  ]);
  expect(first).toMatchObject({ ok: false, why: "aborted" });
  expect(second?.ok).toBe(true);
  expect(third).toEqual(second);
  expect(seen.ran).toBe(1);
});

test("two messages that begin at the same time measure one baseline; a stopped one waits for no other", async () => {
  const { seen, draft } = createDraft();
  const ended = Promise.withResolvers<void>();
  const slow = {
    check: async (asked: Parameters<typeof draft.check>[0]) => {
      await ended.promise;
      return draft.check(asked);
    },
  };
  const stop = new AbortController();
  const first = measureBaseline(deps, slow);
  const second = measureBaseline(deps, draft);
  const stopped = measureBaseline({ ...deps, signal: stop.signal }, draft);
  stop.abort();
  expect(await stopped).toEqual({ ok: false, why: "aborted" });
  ended.resolve();
  expect(await second).toEqual(await first);
  expect(seen.ran).toBe(1);
  expect(deps.memory.running.size).toBe(0);
});
