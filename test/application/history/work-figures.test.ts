import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { csvOfFigures, figureCells } from "../../../src/application/history/word-why.ts";
import { readFigures } from "../../../src/application/history/work-figures.ts";
import type { JobEvent, JournalLine, StoredJob } from "../../../src/application/ports/jobs.ts";
import { historyMessagesFor } from "../../../src/domain/texts/history.ts";
import { createUsageStore } from "../../../src/infrastructure/models/usage-store.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { migrate } from "../../../src/infrastructure/store/schema.ts";
import { storedJob } from "../../infrastructure/store/jobs-kit.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-figures-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const now = new Date("2026-03-10T12:00:00.000Z");
/** A zone whose days do not begin with an hour of UTC. */
const DAY = new Intl.DateTimeFormat("sv", { timeZone: "Asia/Kolkata" });
const used = (at: string, model: string, costUsd: number | null, chatKey = "web:ann") => ({
  at,
  chatKey,
  sessionId: "s",
  groupId: "g",
  role: "coder3",
  provider: "p",
  model,
  local: false,
  inputTokens: 100,
  outputTokens: 10,
  cachedTokens: 0,
  costUsd,
});
const worked = (attempts: number, exit_code: number): JournalLine[] => {
  const check = { over: "draft", command: "npm test", exit_code, output: "", duration: 1 } as const;
  const events: JobEvent[] = [{ type: "doing", attempt: 1, doing: "asking", detail: "Gin (p/one)" }];
  for (let attempt = 1; attempt <= attempts; attempt++)
    events.push({ type: "check_finished", attempt, ...check });
  return events.map((event) => ({ at: now.toISOString(), event }));
};
const landed = (n: number, more: Partial<StoredJob> = {}) =>
  storedJob(n, { createdAt: "2026-03-10T10:00:00.000Z", state: "committed", ...more });

test("usage and jobs are summed by day and model, in the zone of the reader", async () => {
  const db = openSqlite(join(folder, "store.db"));
  await migrate(db, () => now);
  const usage = createUsageStore(db);
  // 18:40 in UTC is the next day there.
  await usage.record(used("2026-03-08T18:20:00.000Z", "one", 0.5));
  await usage.record(used("2026-03-08T18:40:00.000Z", "one", 0.25));
  await usage.record(used("2026-03-10T11:59:00.000Z", "=two", null, "web:bob"));
  await usage.record(used("2026-01-01T00:00:00.000Z", "old", 9));
  const journals = new Map([
    [landed(1).jobId, worked(1, 0)],
    [landed(2).jobId, worked(2, 0)],
    [landed(3).jobId, worked(1, 1)],
    [landed(4).jobId, []],
  ]);
  const sources = {
    usage,
    jobs: [
      landed(1),
      landed(2, { state: "undone" }),
      landed(3, { state: "staged", red: "worse" }),
      landed(4, { state: "undone", changes: [] }),
    ],
    journalOf: (jobId: string) => journals.get(jobId) ?? [],
    dayOf: (at: Date) => DAY.format(at),
    now,
  };
  const { rows, days, models, total } = await readFigures(sources, 7);
  expect(days).toHaveLength(7);
  expect(rows.map(({ day, model, requests, costUsd }) => [day, model, requests, costUsd])).toEqual([
    ["2026-03-08", "p/one", 1, 0.5],
    ["2026-03-09", "p/one", 1, 0.25],
    ["2026-03-10", "", 0, 0],
    ["2026-03-10", "p/=two", 1, 0],
    ["2026-03-10", "p/one", 0, 0],
  ]);
  expect(total).toMatchObject({ requests: 3, unpriced: 1, jobs: 4, checked: 3, firstTry: 1, undone: 1 });
  expect(models[0]).toMatchObject({ model: "p/one", inputTokens: 200, jobs: 3 });
  expect(figureCells(historyMessagesFor("en"), total)).toEqual(["3", "330", "≥$0.75", "4", "1/3", "1"]);
  const csv = csvOfFigures([...rows, { ...total, model: '=HYPERLINK("x"),y' }]).split("\n");
  expect(csv[0]).toStartWith("day,model,requests,input_tokens,");
  expect(csv).toHaveLength(rows.length + 3);
  expect(csv.at(-2)).toContain(`"'=HYPERLINK(""x""),y"`);
  // One person's own chats alone.
  const own = await readFigures({ ...sources, jobs: [], chatKey: "web:bob", withChatsBelow: true }, 7);
  expect(own.total).toMatchObject({ requests: 1, costUsd: 0, unpriced: 1 });
  await db.destroy();
});
