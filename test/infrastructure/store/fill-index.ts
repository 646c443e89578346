/** Run as a process of its own by job-index.test.ts: indexes 25 jobs of one writer. */
import type { JobArchive, StoredJob } from "../../../src/application/ports/jobs.ts";
import { createJobIndex } from "../../../src/infrastructure/jobs/job-index.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";

const [file, writer] = process.argv.slice(2) as [string, string];
const jobs = Array.from({ length: 25 }, (_, n): StoredJob => {
  const at = new Date(1_700_000_000_000 + n).toISOString();
  return {
    jobId: `job_${n}_writer0${writer}`,
    groupId: `group_${n}_writer0${writer}`,
    workspace: "/ws",
    source: "cli",
    title: "",
    createdAt: at,
    finishedAt: at,
    kind: "direct",
    outcome: "committed",
    success: true,
    totalCmds: 1,
    executedCmds: 1,
    failedCmds: 0,
    changes: [],
    notes: [],
    state: "committed",
    stateAt: at,
    bytes: 0,
  };
});
const archive: JobArchive = {
  isFirstOf: () => false,
  append: () => {},
  save: () => {},
  read: () => null,
  list: () => jobs,
  numbers: () => new Map(),
  events: () => [],
  differences: () => [],
  walkDifferences: () => [],
};
const index = createJobIndex(openSqlite(file), () => new Date());
await index.sync(archive);
await index.close();
