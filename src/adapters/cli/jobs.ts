import type { IndexedJob } from "../../application/ports/job-index.ts";
import type { StoredJob } from "../../application/ports/jobs.ts";
import type { Opened } from "../../application/ports/opening.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import type { Subcommand } from "./command.ts";
import { openFromFlags, openIndexFromFlags, readFlags } from "./flags.ts";
import type { Flags } from "./parse-flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { textWidth } from "./terminal/text-width.ts";

/** `jobs`: the history of a workspace, newest last. */
export const command: Subcommand = {
  name: "jobs",
  usage: "jobs",
  flags: { limit: "string", all: "boolean" },
  words: 0,
  run: jobs,
};

async function jobs(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, command, args);
  const opened = await openFromFlags(program, flags);
  const limit = Number(flags.values.limit ?? 20);
  if (!Number.isInteger(limit) || limit < 1) {
    program.err(`${opened.messages.usageError(`--limit ${flags.values.limit}`)}\n`);
    return EXIT.usage;
  }
  const list =
    flags.values.all === true
      ? await everywhere(program, flags, limit)
      : opened.workspace.archive.list().slice(-limit).map(listed);
  if (flags.values.json === true) {
    program.out(`${JSON.stringify({ jobs: list.map(toJobJson) })}\n`);
    return EXIT.done;
  }
  program.out(
    `${list.length === 0 ? opened.messages.noJobs : table(opened, list, flags.values.all === true)}\n`,
  );
  return EXIT.done;
}

/** A job as a list needs it; its changes are there only when it came from its own folder. */
type ListedJob = IndexedJob & Partial<Pick<StoredJob, "changes" | "pid">>;

export function listed(job: StoredJob): ListedJob {
  return { ...job, changeCount: job.changes.length };
}

async function everywhere(program: CliProgram, flags: Flags, limit: number): Promise<ListedJob[]> {
  const { index } = await openIndexFromFlags(program, flags);
  try {
    await index.syncAll();
    return (await index.jobs({ limit })).reverse();
  } finally {
    await index.close();
  }
}

export function toJobJson(job: ListedJob): Record<string, unknown> {
  return {
    job_id: job.jobId,
    group_id: job.groupId,
    workspace: job.workspace,
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
    change_count: job.changeCount,
    ...(job.changes !== undefined && { changes: job.changes }),
    bytes: job.bytes,
    undo: undoOf(job),
  };
}

export function undoOf(job: ListedJob): "available" | "unavailable" | "none" | "undone" {
  if (job.state === "undone") return "undone";
  if (job.state === "evicted" || job.kind === "none") return "unavailable";
  return job.state === "committed" && job.changeCount > 0 ? "available" : "none";
}

export function resultOf(job: ListedJob, isAlive: (pid: number) => boolean): keyof Messages["jobStates"] {
  if (job.state === "running") return job.pid === undefined || isAlive(job.pid) ? "running" : "interrupted";
  if (job.state === "undone") return "undone";
  if (job.state === "staged") return "preview";
  if (job.outcome === "rolled-back" || job.outcome === "aborted") return "rolled-back";
  return job.success ? "succeeded" : "failed";
}

function table(
  { messages, workspace: { isAlive } }: Opened,
  list: readonly ListedJob[],
  withWorkspace: boolean,
): string {
  const { jobsHeader } = messages;
  const rows = [
    [jobsHeader.job, jobsHeader.time, jobsHeader.result, jobsHeader.changes, jobsHeader.undo, ""],
    ...list.map((job) => [
      job.jobId,
      job.createdAt.slice(0, 19).replace("T", " "),
      messages.jobStates[resultOf(job, isAlive)],
      String(job.changeCount),
      messages.undoStates[undoOf(job)],
      withWorkspace ? `${job.workspace}  ${job.title}` : job.title,
    ]),
  ];
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => textWidth(row[column] as string)))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell + " ".repeat((widths[i] ?? 0) - textWidth(cell)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
