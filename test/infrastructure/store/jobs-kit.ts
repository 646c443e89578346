import type { JobArchive, JobEvent, StoredJob } from "../../../src/application/ports/jobs.ts";

export function storedJob(n: number, more: Partial<StoredJob> = {}): StoredJob {
  return {
    jobId: `job_${n}_aaaaaaaa`,
    groupId: `group_${n}_aaaaaaaa`,
    workspace: "/ws",
    source: "cli",
    title: `patch ${n}`,
    createdAt: new Date(1_700_000_000_000 + n * 1000).toISOString(),
    finishedAt: new Date(1_700_000_000_500 + n * 1000).toISOString(),
    kind: "direct",
    outcome: "committed",
    success: true,
    totalCmds: 1,
    executedCmds: 1,
    failedCmds: 0,
    changes: [{ path: "a.txt", kind: "added" }],
    notes: [],
    state: "committed",
    stateAt: new Date(1_700_000_000_600 + n * 1000).toISOString(),
    bytes: 12,
    ...more,
  };
}

export function archiveOf(
  jobs: StoredJob[],
  events: JobEvent[] = [{ type: "committed", changes: 1 }],
): JobArchive {
  return {
    isFirstOf: () => false,
    append: () => {},
    save: () => {},
    read: (id) => jobs.find(({ jobId }) => jobId === id) ?? null,
    list: () => jobs,
    numbers: () => new Map(),
    events: () => events.map((event) => ({ at: "2026-01-01T00:00:00.000Z", event })),
    differences: () => [],
    walkDifferences: () => [],
  };
}
