import { toJobStatus, toUndoState } from "../../domain/jobs/job-status.ts";
import type { IndexedJob } from "../ports/job-index.ts";
import type { StoredJob } from "../ports/jobs.ts";

/** A job as a list needs it; its changes are there only when it came from its own folder. */
export type ListedJob = IndexedJob & Partial<Pick<StoredJob, "changes">>;

export function toListedJob(job: StoredJob): ListedJob {
  return { ...job, changeCount: job.changes.length };
}

/** A job in a list as programs read it: snake_case. `alive`: its process still works on it. */
export function toJobJson(job: ListedJob, alive: boolean): Record<string, unknown> {
  return {
    job_id: job.jobId,
    group_id: job.groupId,
    workspace: job.workspace,
    created_at: job.createdAt,
    finished_at: job.finishedAt,
    title: job.title,
    ...(job.request !== undefined && { request: job.request }),
    source: job.source,
    kind: job.kind,
    state: job.state,
    status: toJobStatus(job, alive),
    outcome: job.outcome,
    success: job.success,
    total_cmds: job.totalCmds,
    executed_cmds: job.executedCmds,
    failed_cmds: job.failedCmds,
    ...(job.gitCommit !== undefined && { git_commit: job.gitCommit }),
    change_count: job.changeCount,
    ...(job.changes !== undefined && { changes: job.changes }),
    bytes: job.bytes,
    ...(job.interruptions !== undefined && { interruptions: job.interruptions }),
    undo: toUndoState(job),
  };
}
