import type { PatchExecutionResult } from "../../domain/jobs/result.ts";
import { toUndoState } from "../../domain/jobs/job-status.ts";
import type { Note } from "../../domain/jobs/note.ts";
import type { JobOutcome, JobRecord } from "../ports/jobs.ts";
import { LOG } from "../ports/logger.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";
import type { Execution } from "./execution.ts";
import { type JobEnd, swapConflicts } from "./job-end.ts";
import type { WorkspaceDeps } from "./workspace-parts.ts";

interface JournaledJob {
  readonly record: JobRecord;
  readonly kind: Transaction["kind"];
  readonly warnings: readonly string[];
  readonly notes: readonly Note[];
}

/** Remembers how a job ended, makes room for its undo record, and tells it. */
export async function concludeJob(
  { transactions, archive, config, messages, logger }: WorkspaceDeps,
  { record, kind, warnings, notes }: JournaledJob,
  outcome: JobOutcome,
  { results, sealed, gitCommit, swapped, ended, keptAfterFailure }: JobEnd,
): Promise<Execution> {
  const { jobId, success, executedCmds, failedCmds, totalCmds } = record;
  const result: PatchExecutionResult = {
    jobId,
    success,
    executedCmds,
    failedCmds,
    results,
    summary: messages.summary({ total: totalCmds, succeeded: executedCmds, failed: failedCmds }),
    ...(gitCommit !== null && { gitCommit }),
    changes: sealed.changes,
    undo: toUndoState({
      state: outcome === "committed" ? "committed" : "discarded",
      kind,
      changeCount: sealed.changes.length,
    }),
    dryRun: false,
    notes,
  };
  if (outcome !== "committed" && outcome !== "staged") archive.save(record);
  const keeps = outcome === "staged" || outcome === "committed" || outcome === "conflict";
  const evicted = keeps
    ? await transactions.enforceQuota(
        { quotaBytes: config.undo_quota, journalDays: config.journal_days },
        jobId,
      )
    : [];
  if (evicted.length > 0)
    archive.append(jobId, {
      type: "quota_evicted",
      jobs: evicted.map((one) => ({ job_id: one.jobId, bytes: one.bytes })),
      quota_bytes: config.undo_quota,
    });
  const failure = results.find((one) => !one.success);
  const fields = {
    job_id: jobId,
    success,
    executed_cmds: executedCmds,
    failed_cmds: failedCmds,
    summary: result.summary,
    outcome,
    changes: sealed.changes.map(({ path }) => path),
    ...(failure !== undefined && {
      failed_command: `${failure.command.type}:${failure.command.action}`,
      error: failure.error,
    }),
  };
  if (success) logger.info("worker", ...LOG.executionCompleted, fields);
  else logger.error("worker", ...LOG.executionFailed, fields);
  return {
    status: "ran",
    outcome,
    kind,
    result,
    totalCmds,
    warnings,
    conflicts: swapped === null ? [] : swapConflicts(swapped),
    evicted,
    quotaBytes: config.undo_quota,
    groupId: record.groupId,
    ended,
    outside: sealed.outside,
    keptAfterFailure,
  };
}
