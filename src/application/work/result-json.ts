import type { PatchCommand } from "../../domain/patch/command.ts";
import type { PatchExecutionResult } from "../../domain/patch/result.ts";

/** The result of a job as the world reads it: snake_case, one document. */
export function toResultJson(
  result: PatchExecutionResult,
  mask: (text: string) => string,
): Record<string, unknown> {
  return {
    job_id: result.jobId,
    success: result.success,
    executed_cmds: result.executedCmds,
    failed_cmds: result.failedCmds,
    results: result.results.map(({ command, success, output, error, duration, changes, notes }) => ({
      command: toCommandJson(command, mask),
      success,
      output,
      error,
      duration,
      changes,
      ...(notes.length > 0 && { notes }),
    })),
    summary: result.summary,
    ...(result.gitCommit !== undefined && { git_commit: result.gitCommit }),
    changes: result.changes,
    undo: result.undo,
    dry_run: result.dryRun,
    ...(result.notes.length > 0 && { notes: result.notes }),
  };
}

function toCommandJson(
  { edit: _, ...command }: PatchCommand,
  mask: (text: string) => string,
): Record<string, unknown> {
  return { ...command, target: mask(command.target), content: mask(command.content) };
}
