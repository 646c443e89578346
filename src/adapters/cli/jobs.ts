import type { StoredJob } from "../../application/ports/jobs.ts";
import type { JobState, Messages } from "../../domain/messages/messages.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `jobs`: the history of a workspace, newest last. */
export async function jobs(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, "jobs", args, { limit: "string" }, 0);
  const worker = await openFromFlags(program, flags);
  const limit = Number(flags.values.limit ?? 20);
  if (!Number.isInteger(limit) || limit < 1) {
    program.err(`${worker.messages.usageError(`--limit ${flags.values.limit}`)}\n`);
    return EXIT.usage;
  }
  const all = worker.archive.list();
  const list = all.slice(-limit);
  if (flags.values.json === true) {
    program.out(`${JSON.stringify({ jobs: list.map(toJobJson) })}\n`);
    return EXIT.done;
  }
  program.out(`${list.length === 0 ? worker.messages.noJobs : table(worker.messages, list)}\n`);
  return EXIT.done;
}

export function toJobJson(job: StoredJob): Record<string, unknown> {
  return {
    job_id: job.jobId,
    group_id: job.groupId,
    created_at: job.createdAt,
    finished_at: job.finishedAt,
    title: job.title,
    source: job.source,
    kind: job.kind,
    state: job.state,
    outcome: job.outcome,
    success: job.success,
    total_cmds: job.totalCmds,
    executed_cmds: job.executedCmds,
    failed_cmds: job.failedCmds,
    ...(job.gitCommit !== undefined && { git_commit: job.gitCommit }),
    changes: job.changes,
    bytes: job.bytes,
    undo: undoOf(job),
  };
}

export function undoOf(job: StoredJob): "available" | "unavailable" | "none" | "undone" {
  if (job.state === "undone") return "undone";
  if (job.state === "evicted" || job.kind === "none") return "unavailable";
  return job.state === "committed" && job.changes.length > 0 ? "available" : "none";
}

export function resultOf(job: StoredJob): JobState {
  if (job.state === "undone") return "undone";
  if (job.state === "staged") return "preview";
  if (job.outcome === "rolled-back" || job.outcome === "aborted") return "rolled-back";
  return job.success ? "succeeded" : "failed";
}

function table(messages: Messages, list: readonly StoredJob[]): string {
  const { jobsHeader } = messages;
  const rows = [
    [jobsHeader.job, jobsHeader.time, jobsHeader.result, jobsHeader.changes, jobsHeader.undo, ""],
    ...list.map((job) => [
      job.jobId,
      job.createdAt.slice(0, 19).replace("T", " "),
      messages.jobStates[resultOf(job)],
      String(job.changes.length),
      undoOf(job),
      job.title,
    ]),
  ];
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => width(row[column] as string)))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell + " ".repeat((widths[i] ?? 0) - width(cell)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Columns a text takes on a terminal: East Asian wide characters take two. */
function width(text: string): number {
  let columns = 0;
  for (const char of text)
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/.test(
        char,
      )
        ? 2
        : 1;
  return columns;
}
