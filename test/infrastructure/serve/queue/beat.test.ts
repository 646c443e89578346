import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BEAT_MS, DEAD_AFTER_MS } from "../../../../src/domain/store/store-trouble.ts";
import { createSortedIds } from "../../../../src/infrastructure/platform/hash.ts";
import { timers } from "../../../../src/infrastructure/platform/timers.ts";
import { createSqliteEngine, createWorkQueue } from "../../../../src/infrastructure/serve/work-queue.ts";
import { openSqlite } from "../../../../src/infrastructure/store/open-store.ts";
import { migrate } from "../../../../src/infrastructure/store/schema.ts";

async function twoProcesses() {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-beat-"));
  const db = openSqlite(join(folder, "picoclaw.db"));
  await migrate(db, timers.now);
  const clock = { at: Date.parse("2026-11-15T00:00:00Z") };
  const now = () => new Date(clock.at);
  const newId = createSortedIds(now);
  const open = (owner: string) =>
    createWorkQueue({
      db,
      engine: createSqliteEngine(),
      owner,
      isGone: () => false,
      timers: { ...timers, now },
      newId,
    });
  const [worker, judge] = [open("worker"), open("judge")];
  await worker.add([{ id: newId(), queue: "q", key: "k", group: "g", ref: "1", light: false }]);
  await worker.beat();
  await judge.beat();
  const claimed = await worker.claim({ queue: "q" }, async () => null);
  if (claimed === null) throw new Error("nothing was claimed");
  return {
    worker,
    judge,
    work: claimed.work,
    pass(ms: number) {
      clock.at += ms;
    },
    async close() {
      await worker.close();
      await judge.close();
      await db.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

test("an outage, or a machine that slept, does not count as silence", async () => {
  const { worker, judge, work, pass, close } = await twoProcesses();
  pass(3 * DEAD_AFTER_MS);
  await judge.beat();
  expect(await worker.beat()).toEqual([]);
  expect(await worker.finish(work, {})).toBe("done");
  await close();
});

test("who is not heard of after an outage loses its work when its silence has lasted since then", async () => {
  const { worker, judge, work, pass, close } = await twoProcesses();
  pass(3 * DEAD_AFTER_MS);
  await judge.beat();
  for (let ms = 0; ms < DEAD_AFTER_MS; ms += BEAT_MS) {
    expect(await judge.claim({ queue: "q" }, async () => null)).toBeNull();
    pass(BEAT_MS);
    await judge.beat();
  }
  expect((await judge.claim({ queue: "q" }, async () => null))?.work.attempt).toBe(2);
  expect(await worker.finish(work, {})).toBe("lost");
  await close();
});
