import { afterEach, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  bareRecord,
  createJobArchive,
  saveJobRecord,
} from "../../../src/infrastructure/engine/job-archive.ts";
import { createJobFolder, jobFolder, writeState } from "../../../src/infrastructure/jobs/job-folder.ts";

const storage = mkdtempSync(join(tmpdir(), "picoclaw-order-"));
afterEach(() => rmSync(storage, { recursive: true, force: true }));

test("the order of jobs is parsed again only when its file is another", () => {
  const file = join(storage, "order");
  const write = (lines: string) => {
    writeFileSync(file, lines);
    utimesSync(file, 1, 1);
  };
  const archive = createJobArchive(storage, () => new Date());
  expect(archive.numbers().size).toBe(0);
  write("job_1_a\njob_2_b\n");
  expect([...archive.numbers()]).toEqual([
    ["job_1_a", 1],
    ["job_2_b", 2],
  ]);
  // The same inode, size and time: what was parsed is used.
  write("job_2_b\njob_1_a\n");
  expect(archive.numbers().get("job_1_a")).toBe(1);
  appendFileSync(file, "job_3_c\n");
  expect([archive.numbers().get("job_1_a"), archive.numbers().get("job_3_c")]).toEqual([2, 3]);
});

test("a list of one group reads no job that is known to be of another", () => {
  const archive = createJobArchive(storage, () => new Date());
  const save = (id: string, groupId: string) =>
    saveJobRecord(jobFolder(storage, id), { ...bareRecord(id, "/w"), groupId });
  for (const [id, groupId] of [
    ["job_1_a", "one"] as const,
    ["job_2_b", "two"] as const,
    ["job_3_c", "one"] as const,
  ]) {
    writeState(createJobFolder(storage, id), { state: "committed", at: "2026-01-01T00:00:00Z", turn: 1 });
    save(id, groupId);
  }
  const numbered = () =>
    archive.list(undefined, (group) => group === "one").map(({ jobId, number }) => [jobId, number]);
  const own = [
    ["job_1_a", 1],
    ["job_3_c", 3],
  ];
  expect(numbered()).toEqual(own);
  // No job changes its group: the record of this one is read only because it is asked for by its id.
  save("job_2_b", "one");
  expect(numbered()).toEqual(own);
  expect(archive.read("job_2_b")?.groupId).toBe("one");
  // Without the order, numbers are those of all jobs.
  save("job_2_b", "two");
  rmSync(join(storage, "order"));
  expect(numbered()).toEqual(own);
});

test("a list of some states goes by the state that jobs are in, also where another job undid or redid them by a merge", () => {
  const archive = createJobArchive(storage, () => new Date());
  const at = "2026-01-01T00:00:00Z";
  for (const [id, state, more] of [
    ["job_1_a", "committed", { reversedBy: "job_3_c" }] as const,
    ["job_2_b", "undone", { broughtInBy: "job_4_d" }] as const,
    ["job_3_c", "committed", {}] as const,
    ["job_4_d", "committed", {}] as const,
    ["job_5_e", "undone", {}] as const,
  ]) {
    writeState(createJobFolder(storage, id), { state, at, turn: 1 });
    saveJobRecord(jobFolder(storage, id), { ...bareRecord(id, "/w"), ...more });
  }
  const listed = (state: "committed" | "undone") => archive.list([state]).map(({ jobId }) => jobId);
  expect(listed("committed")).toEqual(["job_2_b", "job_3_c", "job_4_d"]);
  expect(listed("undone")).toEqual(["job_1_a", "job_5_e"]);
});
