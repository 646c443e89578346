import type { PatchCommand } from "../../domain/patch/command.ts";
import type { Change, PatchExecutionResult } from "../../domain/patch/result.ts";

/** The result of a job as the world reads it (`apply --json`, the library): snake_case, one document. */
export interface ResultJson {
  readonly job_id: string;
  readonly success: boolean;
  readonly executed_cmds: number;
  readonly failed_cmds: number;
  readonly results: readonly CommandResultJson[];
  readonly summary: string;
  readonly git_commit?: string;
  readonly changes: readonly Change[];
  readonly undo: PatchExecutionResult["undo"];
  readonly dry_run: boolean;
  readonly notes?: readonly string[];
}

export interface CommandResultJson {
  readonly command: Omit<PatchCommand, "edit">;
  readonly success: boolean;
  readonly output: string;
  readonly error: string;
  readonly duration: number;
  readonly changes: readonly Change[];
  readonly notes?: readonly string[];
}

/** Commands in a result are masked already; see `run-commands.ts`. */
export function toResultJson(result: PatchExecutionResult): ResultJson {
  return {
    job_id: result.jobId,
    success: result.success,
    executed_cmds: result.executedCmds,
    failed_cmds: result.failedCmds,
    results: result.results.map(
      ({ command: { edit: _, ...command }, success, output, error, duration, changes, notes }) => ({
        command,
        success,
        output,
        error,
        duration,
        changes,
        ...(notes.length > 0 && { notes }),
      }),
    ),
    summary: result.summary,
    ...(result.gitCommit !== undefined && { git_commit: result.gitCommit }),
    changes: result.changes,
    undo: result.undo,
    dry_run: result.dryRun,
    ...(result.notes.length > 0 && { notes: result.notes }),
  };
}
