/** Plans and records of jobs, which are written and read line by line. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createJobFolder,
  type Op,
  openSwapRecord,
  readPlan,
  readSwapRecord,
  writePlan,
} from "../../../src/infrastructure/engine/job-folder.ts";

const storage = mkdtempSync(join(tmpdir(), "picoclaw-plans-"));
afterAll(() => rmSync(storage, { recursive: true }));

const entry = (ino: number) => ({
  kind: "file" as const,
  ino: String(ino),
  mode: 0o644,
  size: ino,
  mtime: "1700000000000000001",
  ctime: "1700000000000000002",
  uid: 0,
  gid: 0,
});

/** Longer than the pieces in which a file is read, with characters of several bytes across their ends. */
const PATHS = ["a", "", "日本語".repeat(60_000), "b/c", "ü".repeat(131_071), "z"];
const ops: Op[] = PATHS.map((path, n) => ({ n, root: 0, path, a: null, b: entry(n), area: "file" }));

test("a plan is read as it was written, however long its lines are", () => {
  const folder = createJobFolder(storage, "job_1");
  const plan = { roots: ["/w"], stamp: "1", ops, folders: [{ root: 0, path: "b", ino: "7" }] };
  writePlan(folder, plan);
  expect(readPlan(folder)).toEqual(plan);
  expect(readdirSync(folder.path).sort()).toEqual(["plan.ndjson", "slots"]);
});

test("so is the record of a swap, which is not there before it is finished", () => {
  const folder = createJobFolder(storage, "job_2");
  const around = [{ ino: "1", before: null, after: "2" }];
  const record = openSwapRecord(folder, 1, { stamp: "3", swaps: [1, 2], around });
  for (let n = 0; n < 3_000; n += 1)
    record.add(n, { standing: entry(n), kept: n % 2 === 0 ? null : entry(n) });
  expect(readSwapRecord(folder, 1)).toBeNull();
  record.finish();
  const read = readSwapRecord(folder, 1);
  expect({ ...read, entries: read?.entries.size }).toEqual({
    stamp: "3",
    swaps: [1, 2],
    around,
    entries: 3_000,
  });
  expect(read?.entries.get(2_999)).toEqual({ standing: entry(2_999), kept: entry(2_999) });
});
