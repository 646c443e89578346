/** Reports of jobs to other machines stay rare and small, for any behaviour of a job. */
import { expect, test } from "bun:test";
import { createJobReporter } from "../../../src/application/fleet/control.ts";
import type { FleetJobs, JobSummary } from "../../../src/application/ports/fleet.ts";
import type { JournalLine, StoredJob } from "../../../src/application/ports/jobs.ts";
import { createBus } from "../../../src/application/serve/serve-events.ts";
import { createManualTimers } from "../../fakes/timers.ts";
import { storedJob } from "../../infrastructure/store/jobs-kit.ts";

function open(jobs: StoredJob[], events: readonly JournalLine[] = []) {
  const timers = createManualTimers();
  const bus = createBus();
  const written: JobSummary[] = [];
  const forgotten: string[] = [];
  const told = new Map<string, string>();
  const troubles: unknown[] = [];
  const teller = createJobReporter({
    jobs: {
      write: async (summary) => {
        if (troubles.length === 0 && summary.job.title === "refused") throw new Error("away");
        written.push(summary);
      },
      reported: async () => told,
      forget: async (ids) => void forgotten.push(...ids),
      prune: async () => {},
    } as Partial<FleetJobs> as FleetJobs,
    workspace: () => ({
      archive: {
        read: (id: string) => jobs.find(({ jobId }) => jobId === id) ?? null,
        list: () => jobs,
        events: () => [...events],
      } as never,
      isAlive: () => true,
      mask: (text) => text.replaceAll("secret", "***"),
    }),
    output: async () => `secret ${"é".repeat(100_000)} the end`,
    bus,
    isOwn: (pid) => pid === 7,
    keepDays: () => 0,
    timers,
    onTrouble: (error) => troubles.push(error),
  });
  return { teller, timers, bus, written, forgotten, told, troubles };
}

test("a job that prints and changes without end is reported four times a second, in 64 KiB", async () => {
  const changes = Array.from({ length: 10_000 }, (_, n) => ({
    path: `${"あ".repeat(40)}/${n}`,
    kind: "added" as const,
  }));
  const job = storedJob(1, { state: "running", pid: 7, changes });
  const line = (n: number): JournalLine => ({
    at: "2026-03-01T00:00:00.000Z",
    event: { type: "note", text: `${n} ${"x".repeat(500)}` },
  });
  const { teller, timers, bus, written } = open(
    [job],
    Array.from({ length: 2_000 }, (_, n) => line(n)),
  );
  await teller.start();
  await timers.advance(250);
  expect(written.length).toBe(1);
  for (let n = 0; n < 100; n += 1) {
    bus.publish({ type: "job", jobId: job.jobId, output: "more" });
    await timers.advance(20);
  }
  await timers.advance(250);
  // Two seconds and a quarter.
  expect(written.length).toBeGreaterThan(2);
  expect(written.length).toBeLessThanOrEqual(10);
  const last = written.at(-1) as JobSummary;
  const bytes = [last.job, last.events, last.tail].map((part) => Buffer.byteLength(JSON.stringify(part)));
  expect(bytes.reduce((sum, one) => sum + one)).toBeLessThan(65_536);
  expect(last.changeCount).toBe(10_000);
  expect(last.events.at(-1)).toEqual(line(1_999));
  expect(last.tail?.endsWith("the end")).toBe(true);
  expect(JSON.stringify(written)).not.toContain("secret");
  await teller.stop();
});

test("a reported job is reported again only when it changed; a removed one is forgotten, a refused one repeated", async () => {
  const [same, changed, refused] = [storedJob(1), storedJob(2), storedJob(3, { title: "refused" })];
  const { teller, timers, written, forgotten, told, troubles } = open([same, changed, refused]);
  told.set(same.jobId, same.stateAt);
  told.set(changed.jobId, "earlier");
  told.set("job_9_aaaaaaaa", "earlier");
  await teller.start();
  await timers.advance(5_000);
  expect(forgotten).toEqual(["job_9_aaaaaaaa"]);
  expect(written.map(({ job }) => job.jobId).toSorted()).toEqual([changed.jobId, refused.jobId]);
  expect(troubles.length).toBe(1);
  // Another process of this workspace prints: its words are its own.
  expect(written.every(({ tail }) => tail === "")).toBe(true);
  await teller.stop();
});
