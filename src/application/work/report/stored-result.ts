import type { Messages } from "../../../domain/texts/messages.ts";
import type { StoredJob } from "../../ports/jobs.ts";
import type { JournalLine } from "../../ports/journal.ts";
import type { CommandResultJson, ResultJson } from "../result-json.ts";

/** The result document of a job that ran earlier, from its journal. */
export function storedResult(
  messages: Messages,
  job: StoredJob,
  journal: readonly JournalLine[],
): ResultJson {
  const results: CommandResultJson[] = [];
  for (const { event } of journal) {
    if (event.type !== "command_finished") continue;
    const started = journal.find(
      (line) => line.event.type === "command_started" && line.event.index === event.index,
    );
    if (started?.event.type !== "command_started") continue;
    const { success, output, error, duration, changes, notes } = event;
    const { command } = started.event;
    results.push({ command, success, output, error, duration, changes, ...(notes.length > 0 && { notes }) });
  }
  const undoable = job.state === "committed" && job.changes.length > 0;
  const lost = job.state === "evicted" || job.kind === "none";
  return {
    job_id: job.jobId,
    success: job.success,
    executed_cmds: job.executedCmds,
    failed_cmds: job.failedCmds,
    results,
    summary: messages.summary({ total: job.totalCmds, succeeded: job.executedCmds, failed: job.failedCmds }),
    ...(job.gitCommit !== undefined && { git_commit: job.gitCommit }),
    changes: job.changes,
    undo: lost ? "unavailable" : undoable ? "available" : "none",
    dry_run: false,
    ...(job.notes.length > 0 && { notes: job.notes }),
  };
}
