import type { PatchCommand } from "../../domain/patch/command.ts";
import type { Change } from "../../domain/jobs/result.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import type { JobStatus, UndoState } from "../../domain/jobs/job-status.ts";
import type { Conflict } from "../ports/jobs-transaction.ts";
import type { JobFacts } from "./job-facts.ts";
import { wordEnding, wordSummary } from "./job-report.ts";
import { wordNote } from "./word-notes.ts";

/** The result of a job as the world reads it (`apply --json`, the API, the library): snake_case, one document. */
export interface ResultJson {
  readonly job_id: string;
  readonly group_id: string;
  /** What became of it; the first line of every report words this. */
  readonly status: JobStatus;
  readonly success: boolean;
  readonly executed_cmds: number;
  readonly failed_cmds: number;
  readonly results: readonly CommandResultJson[];
  readonly summary: string;
  readonly git_commit?: string;
  readonly changes: readonly Change[];
  readonly undo: UndoState;
  readonly dry_run: boolean;
  readonly notes?: readonly string[];
  /** What stood in the way of bringing it in. */
  readonly conflicts?: readonly Conflict[];
  /** Older jobs that can no longer be taken back, because the quota of undo data was passed. */
  readonly evicted?: readonly { readonly job_id: string; readonly bytes: number }[];
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
export function toResultJson(messages: Messages, facts: JobFacts): ResultJson {
  const word = (notes: JobFacts["notes"]) => notes.map((note) => wordNote(messages, note));
  const notes = word(facts.notes);
  if (facts.ending !== undefined) notes.push(wordEnding(messages, facts));
  return {
    job_id: facts.jobId,
    group_id: facts.groupId,
    status: facts.status,
    success: facts.success,
    executed_cmds: facts.executedCmds,
    failed_cmds: facts.failedCmds,
    results: facts.commands.map(({ command, success, output, error, duration, changes, notes: own }) => ({
      command,
      success,
      output,
      error,
      duration,
      changes,
      ...(own.length > 0 && { notes: word(own) }),
    })),
    summary: wordSummary(messages, facts),
    ...(facts.gitCommit !== undefined && { git_commit: facts.gitCommit }),
    changes: facts.changes,
    undo: facts.undo,
    dry_run: facts.dryRun,
    ...(notes.length > 0 && { notes }),
    ...(facts.conflicts.length > 0 && { conflicts: facts.conflicts }),
    ...(facts.evicted.length > 0 && {
      evicted: facts.evicted.map(({ jobId, bytes }) => ({ job_id: jobId, bytes })),
    }),
  };
}
