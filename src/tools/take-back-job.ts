import type { Workspace } from "../application/ports/workspace.ts";
import type { TakeBack } from "../application/work/take-back.ts";
import type { JobFacts } from "./envelope.ts";
import { describeConflict } from "./run-job.ts";
import { ToolError } from "./tool-error.ts";

/** Undoes one job, a group, or the last job; returns what it restored. */
export async function takeBackJob(workspace: Workspace, name?: string): Promise<JobFacts> {
  const taken = await workspace.takeBack({
    direction: "undo",
    force: false,
    ...(name !== undefined && { name }),
  });
  if (taken.status !== "done") throw refusalOf(taken);
  const changes = taken.jobs.flatMap((job) => job.changes);
  return { job_id: taken.jobs.map(({ job }) => job.jobId).join(","), changes };
}

function refusalOf(taken: Exclude<TakeBack, { status: "done" }>): ToolError {
  switch (taken.status) {
    case "nothing":
      return new ToolError("NOTHING_TO_UNDO", "there is no job to undo");
    case "unknown":
      return new ToolError("NOT_FOUND", `no such job: ${taken.name}`);
    case "conflict":
      return new ToolError(
        "CONFLICT",
        `${taken.job.jobId} was not undone, since this changed after it: ${taken.conflicts.map(describeConflict).join(", ")}`,
      );
    case "refused":
      return new ToolError(
        "REFUSED",
        `${taken.job.jobId} cannot be undone: ${taken.reason} (${taken.state})`,
      );
  }
}
