import { expect, test } from "bun:test";
import { endReason, toEndReason } from "../../../src/application/jobs/job-facts.ts";
import { type StopJobDeps, stopJob } from "../../../src/application/jobs/unfinished-jobs.ts";
import type { JobRecord, JournalLine, StoredJob } from "../../../src/application/ports/jobs.ts";
import { toJobStatus } from "../../../src/domain/jobs/result.ts";

const ended = { state: "discarded", kind: "copy", changeCount: 0, totalCmds: 1, executedCmds: 0 } as const;
const rolledBack = (reason: string): JournalLine => ({ at: "", event: { type: "rolled_back", reason } });

test("the reason of a record is the start of its first line", () => {
  expect(endReason("exit 3\nand more")).toEqual({ reason: "exit 3" });
  expect([...(endReason("語".repeat(3_000_000)).reason ?? "")].length).toBe(200);
  expect(endReason(" \n")).toEqual({});
});

test("a job without a reason in its record has that of its journal", () => {
  const journal = [rolledBack("first"), rolledBack("exit 3\nand more")];
  expect(toEndReason({ state: "discarded" }, journal)).toBe("exit 3");
  expect(toEndReason({ state: "discarded", reason: "own" }, journal)).toBe("own");
  expect(toEndReason({ state: "committed" }, journal)).toBeUndefined();
});

test("only a job whose process died is interrupted; one that an earlier version withdrew is not", () => {
  expect(toJobStatus({ ...ended, outcome: "aborted", reason: "its process died" }, false)).toBe(
    "interrupted",
  );
  expect(toJobStatus({ ...ended, outcome: "aborted", reason: "aborted" }, false)).toBe("stopped");
  expect(toJobStatus({ ...ended, outcome: "running" }, false)).toBe("stopped");
});

for (const [how, works, reason] of [
  ["that the stop killed is aborted", true, "aborted"],
  ["that had died before the stop stays interrupted", false, "its process died"],
] as const)
  test(`a job ${how}`, async () => {
    let alive: boolean = works;
    let job = { jobId: "job_1_a", state: "running", outcome: "running", pid: 7 } as StoredJob;
    const deps: StopJobDeps = {
      archive: {
        read: () => job,
        append: () => {},
        events: () => [],
        save: (record: JobRecord) => {
          job = { ...job, ...record };
        },
      },
      worksOn: () => alive,
      signal: () => {
        alive = false;
      },
      closeDeadJobs: async () => {
        job = { ...job, state: "discarded", outcome: "aborted", reason: "its process died" };
        return [job.jobId];
      },
      pause: async () => {},
      clock: () => 0,
    };
    expect(await stopJob(deps, "job_1_a")).toEqual({ status: "stopped" });
    expect(job).toMatchObject({ outcome: "aborted", reason });
  });
