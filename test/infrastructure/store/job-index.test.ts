import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JobEvent } from "../../../src/application/ports/jobs.ts";
import { createJobIndex } from "../../../src/infrastructure/jobs/job-index.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { archiveOf, storedJob } from "./jobs-kit.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const now = () => new Date("2026-01-02T03:04:05Z");

function tempFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-store-"));
  folders.push(folder);
  return join(folder, "picoclaw.db");
}

test("a sync indexes every job once, and a second sync changes nothing", async () => {
  const index = createJobIndex(openSqlite(tempFile()), now);
  const archive = archiveOf([storedJob(1), storedJob(2)]);
  expect(await index.sync(archive)).toEqual({ added: 2, updated: 0 });
  expect(await index.sync(archive)).toEqual({ added: 0, updated: 0 });
  expect((await index.jobs({ limit: 10 })).map(({ jobId }) => jobId)).toEqual([
    "job_2_aaaaaaaa",
    "job_1_aaaaaaaa",
  ]);
  await index.close();
});

test("an undone job is updated, and its new events are appended", async () => {
  const db = openSqlite(tempFile());
  const index = createJobIndex(db, now);
  await index.sync(archiveOf([storedJob(1)]));
  const undone = storedJob(1, { state: "undone", stateAt: "2026-02-02T00:00:00.000Z" });
  const events: JobEvent[] = [
    { type: "committed", changes: 1 },
    { type: "undone", changes: 1 },
  ];
  expect(await index.sync(archiveOf([undone], events))).toEqual({ added: 0, updated: 1 });
  expect((await index.jobs({ limit: 1 }))[0]?.state).toBe("undone");
  const rows = await db.selectFrom("events").selectAll().orderBy("position").execute();
  expect(rows.map(({ job_id, type }) => [job_id, type])).toEqual([
    ["job_1_aaaaaaaa", "committed"],
    ["job_1_aaaaaaaa", "undone"],
  ]);
  await index.close();
});

test("why a draft was kept is indexed with it", async () => {
  const index = createJobIndex(openSqlite(tempFile()), now);
  await index.sync(archiveOf([storedJob(1, { state: "staged", red: "unended" }), storedJob(2)]));
  expect((await index.jobs({ limit: 10 })).map(({ red }) => red)).toEqual([undefined, "unended"]);
  await index.close();
});

test("the jobs of one turn are found by their group", async () => {
  const index = createJobIndex(openSqlite(tempFile()), now);
  await index.sync(
    archiveOf([storedJob(1, { groupId: "turn" }), storedJob(2, { groupId: "turn" }), storedJob(3)]),
  );
  expect(await index.jobs({ groupId: "turn", limit: 10 })).toHaveLength(2);
  await index.close();
});

test("a fresh store has its migrations pending, then applied, by the first process that asks", async () => {
  const file = tempFile();
  const index = createJobIndex(openSqlite(file), now);
  const fresh = await index.status();
  expect(fresh).toMatchObject({ applied: [], jobs: 0 });
  expect(fresh.pending).toEqual(["201-tables"]);
  expect(await index.migrate()).toEqual(fresh.pending);
  expect(await index.status()).toEqual({ applied: fresh.pending, pending: [], jobs: 0 });
  const other = createJobIndex(openSqlite(file), now);
  expect(await other.migrate()).toEqual([]);
  await index.close();
  await other.close();
});

test("eight processes fill one store at once without losing a job", async () => {
  const file = tempFile();
  const script = join(import.meta.dir, "fill-index.ts");
  const children = Array.from({ length: 8 }, (_, n) =>
    Bun.spawn([process.execPath, script, file, String(n)], { stdout: "ignore", stderr: "pipe" }),
  );
  const codes = await Promise.all(children.map((child) => child.exited));
  expect(codes).toEqual(Array.from({ length: 8 }, () => 0));
  const index = createJobIndex(openSqlite(file), now);
  expect((await index.status()).jobs).toBe(8 * 25);
  await index.close();
}, 300_000);

test("a file that is not a database is refused with an error, not silently replaced", () => {
  const file = tempFile();
  writeFileSync(file, "this is not a database, and somebody may want it back".repeat(50));
  expect(() => openSqlite(file)).toThrow();
});
