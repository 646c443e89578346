import { isOwnJob, type ListedJob, toJobJson, toListedJob } from "../../application/jobs/job-facts.ts";
import { wordStatus } from "../../application/jobs/job-report.ts";
import { numberJobs } from "../../application/jobs/undo-job.ts";
import { wordInterruption, wordNote } from "../../application/jobs/word-notes.ts";
import type { OpenedWorkspace, Workspace } from "../../application/ports/jobs-workspace.ts";
import { toJobStatus, toUndoState } from "../../domain/jobs/job-status.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import { type Flags, fail, printable, type Subcommand } from "./command.ts";
import { openFromFlags, openIndexFromFlags, openOrStop, readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { columnsOf } from "./terminal-text.ts";

/** `jobs`: the history of a workspace, newest last; with `--live`, the jobs that run now. */
export const command: Subcommand = {
  name: "jobs",
  usage: "jobs",
  flags: { limit: "string", all: "boolean", live: "boolean", ids: "boolean" },
  words: 0,
  run: jobs,
};

async function jobs(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, command, args);
  if (flags.values.live === true) {
    const live = await openOrStop(program, flags.values, program.openProcesses);
    return (await import("./live-jobs.ts")).showLiveJobs(program, live, flags);
  }
  const opened = await openFromFlags(program, flags);
  const limit = Number(flags.values.limit ?? 20);
  if (!Number.isInteger(limit) || limit < 1) {
    const text = opened.messages.badCount("--limit", String(flags.values.limit));
    return fail(program, flags.values.json === true, { exitCode: EXIT.usage, code: "usage", text });
  }
  const list =
    flags.values.all === true
      ? await everywhere(program, flags, limit)
      : opened.workspace.archive.list().filter(isOwnJob).slice(-limit).map(toListedJob);
  if (flags.values.json === true) {
    program.out(
      `${JSON.stringify({ jobs: list.map((job) => toJobJson(job, isAliveIn(opened.workspace, job))) })}\n`,
    );
    return EXIT.done;
  }
  const report = program.outIsTerminal ? await import("./terminal-report.ts") : null;
  if (list.length > 0 && report?.hasReportLook(program)) {
    const numbers = numberJobs(opened.workspace.archive.list());
    const label = (jobId: string) => (numbers.has(jobId) ? `#${numbers.get(jobId)}` : null);
    const rows = list.map((job) => ({
      job: { ...job, title: printable(job.title) },
      label: label(job.jobId),
      status: toJobStatus(job, isAliveIn(opened.workspace, job)),
      remark:
        job.damaged === undefined
          ? wordInterruption(opened.messages, job)
          : ` (${opened.messages.recordUnreadable})`,
    }));
    const withWorkspace = flags.values.all === true;
    const text = report.lookOfJobs(program, opened.messages, rows, { withWorkspace });
    await program.page(`${text}\n${await remarks(opened, list)}`);
    return EXIT.done;
  }
  // Titles are a model's words, or a command's: none of their bytes may steer the terminal behind the pipe.
  const shown = { withWorkspace: flags.values.all === true, withIds: flags.values.ids === true };
  const text = list.length === 0 ? opened.messages.noJobs : table(opened, list, shown);
  program.out(`${printable(text)}\n${await remarks(opened, list)}`);
  return EXIT.done;
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

/** A job without a process in its record counts as running while it says so. */
export function isAliveIn({ isAlive }: Pick<Workspace, "isAlive">, job: ListedJob): boolean {
  return job.pid === undefined || isAlive(job);
}

/** Jobs that cannot be used, and the possible actions for waiting ones. */
async function remarks(opened: OpenedWorkspace, list: readonly ListedJob[]): Promise<string> {
  const { messages, workspace } = opened;
  const damaged = list
    .filter((job) => job.damaged !== undefined)
    .map((job) => messages.recordDamaged(job.jobId, job.damaged ?? ""));
  const jobIds = new Set(list.map(({ jobId }) => jobId));
  const undo = await workspace.findDamagedUndo({ whole: false, jobIds });
  const lines = [
    ...damaged,
    ...undo.map(({ jobId, file, lost }) => messages.undoDamaged(jobId, file, lost)),
    ...workspace.archive.list().flatMap(({ jobId, notes }) =>
      notes.flatMap((note) => {
        const isLost = typeof note !== "string" && note.code === "rebuilt" && note.paths.length > 0;
        return isLost && jobIds.has(jobId) ? [`${messages.jobLine(jobId)}: ${wordNote(messages, note)}`] : [];
      }),
    ),
  ];
  return `${lines.map((line) => `\n${printable(line)}\n`).join("")}${previews(opened, list)}`;
}

function previews({ messages, workspace }: OpenedWorkspace, list: readonly ListedJob[]): string {
  const waiting = list.filter(({ state, unsettled }) => state === "staged" && unsettled === undefined);
  const isElsewhere = waiting.some((job) => job.workspace !== workspace.root);
  return waiting.length === 0 ? "" : `\n${messages.previewsHint(waiting.length, isElsewhere)}\n`;
}

/** By number, as people name jobs; those of other folders are numbered separately there, so they are listed by id. */
function table(
  opened: OpenedWorkspace,
  list: readonly ListedJob[],
  { withWorkspace, withIds }: { readonly withWorkspace: boolean; readonly withIds: boolean },
): string {
  const { messages, workspace } = opened;
  const { jobsHeader } = messages;
  const numbers = numberJobs(workspace.archive.list());
  const nameJob = (jobId: string) =>
    withWorkspace || !numbers.has(jobId) ? jobId : `#${numbers.get(jobId)}`;
  const idOf = (jobId: string) => (withIds && !withWorkspace ? `  ${jobId}` : "");
  const rows = [
    [jobsHeader.job, jobsHeader.time, jobsHeader.result, jobsHeader.changes, jobsHeader.undo, ""],
    ...list.map((job) => [
      `${nameJob(job.jobId)}${idOf(job.jobId)}`,
      localTime(job.createdAt),
      job.damaged === undefined
        ? `${wordStatus(messages, {
            status: toJobStatus(job, isAliveIn(opened.workspace, job)),
            failedCmds: job.failedCmds,
          })}${wordInterruption(messages, job)}`
        : messages.recordUnreadable,
      String(job.changeCount),
      messages.undoStates[toUndoState(job)],
      withWorkspace ? `${job.workspace}  ${job.title}` : job.title,
    ]),
  ];
  return columnsOf(rows);
}
