import { afterEach, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJobArchive } from "../../../src/infrastructure/engine/job-archive.ts";

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
