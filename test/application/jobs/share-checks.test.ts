/** Checks of several drafts: never more at once than allowed, and one baseline for all. */
import { expect, test } from "bun:test";
import { type BaselineDeps, measureBaseline } from "../../../src/application/checks/baseline.ts";
import { shareChecks } from "../../../src/application/coder/candidates.ts";
import type { CheckRequest, Draft } from "../../../src/application/jobs/draft.ts";

const REQUEST: CheckRequest = { commands: ["true"], over: "draft", timeoutSeconds: 1 };

/** A draft whose checks take a moment; `most` is how many ran at once. */
function drafts() {
  const seen = { now: 0, most: 0, ran: 0 };
  const draft = {
    async check() {
      seen.ran++;
      seen.most = Math.max(seen.most, ++seen.now);
      await Bun.sleep(5);
      seen.now--;
      return { ok: true, runs: [] } as const;
    },
  } as unknown as Draft;
  return { seen, workspace: { openDraft: async () => ({ ok: true, draft }) as const } };
}

const request = { source: "test", checked: true, signal: new AbortController().signal };

for (const atOnce of [1, 2])
  test(`${atOnce} at once`, async () => {
    const { seen, workspace } = drafts();
    const shared = shareChecks(workspace, atOnce);
    const opened = await Promise.all([1, 2, 3].map(() => shared.openDraft(request)));
    await Promise.all(
      opened.flatMap((one) => (one.ok ? [one.draft.check(REQUEST), one.draft.check(REQUEST)] : [])),
    );
    expect(seen).toEqual({ now: 0, most: atOnce, ran: 6 });
  });

const parts: BaselineDeps = {
  checks: [],
  settings: { command: null, timeout: 10, auto_limit: 10, network: false, enabled: "always" },
  memory: { fingerprint: () => "same", recall: () => null, keep: () => {}, running: new Map() },
  now: () => 0,
  signal: request.signal,
};

test("the baseline is measured once, and again where its draft ended before it did", async () => {
  const { seen, workspace } = drafts();
  const shared = shareChecks(workspace, 1);
  const opened = await shared.openDraft(request);
  if (!opened.ok) throw new Error("no draft");
  const gone = { check: async () => ({ ok: false, why: "aborted", message: "" }) as const };
  const [first, second, third] = await Promise.all([
    shared.measure(parts, gone),
    shared.measure(parts, opened.draft),
    shared.measure(parts, opened.draft),
  ]);
  expect(first).toMatchObject({ ok: false, why: "aborted" });
  expect(second?.ok).toBe(true);
  expect(third).toEqual(second);
  expect(seen.ran).toBe(1);
});

test("two messages that begin at the same time measure one baseline; one that is stopped waits for nobody", async () => {
  const { seen, workspace } = drafts();
  const opened = await workspace.openDraft();
  if (!opened.ok) throw new Error("no draft");
  const ended = Promise.withResolvers<void>();
  const slow = {
    check: async (asked: Parameters<typeof opened.draft.check>[0]) => {
      await ended.promise;
      return opened.draft.check(asked);
    },
  };
  const stop = new AbortController();
  const first = measureBaseline(parts, slow);
  const second = measureBaseline(parts, opened.draft);
  const stopped = measureBaseline({ ...parts, signal: stop.signal }, opened.draft);
  stop.abort();
  expect(await stopped).toEqual({ ok: false, why: "aborted" });
  ended.resolve();
  expect(await second).toEqual(await first);
  expect(seen.ran).toBe(1);
  expect(parts.memory.running.size).toBe(0);
});
