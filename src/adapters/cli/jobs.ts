import {
  isOwnJob,
  type ListedJob,
  nameJobId,
  toJobJson,
  toListedJob,
} from "../../application/jobs/job-facts.ts";
import type { OpenedWorkspace, Workspace } from "../../application/ports/jobs-workspace.ts";
import { nameJob, toJobStatus, toUndoState } from "../../domain/jobs/result.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import { wordNote, wordUnreadable } from "../../domain/texts/jobs-notes.ts";
import { wordStatus } from "../../domain/texts/jobs-report.ts";
import { type Flags, printable, printJson, refuseUsage, type Subcommand } from "./command.ts";
import { closing, openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { columnsOf } from "./terminal-text.ts";

/** `jobs`: the history of a workspace, newest last; with `--live`, the jobs that run now. */
export const command: Subcommand = {
  name: "jobs",
  usage: "jobs",
  flags: "--limit= --all --live --ids",
  run: jobs,
};

async function jobs(program: CliProgram, flags: Flags): Promise<number> {
  if (flags.values.live === true) {
    const live = await openOrStop(program, flags.values, program.openProcesses);
    return (await import("./live-jobs.ts")).showLiveJobs(program, live, flags);
  }
  const opened = await openOrStop(program, flags.values, program.openWorkspace);
  const limit = Number(flags.values.limit ?? 20);
  if (!Number.isInteger(limit) || limit < 1)
    return refuseUsage(program, opened.messages.badCount("--limit", String(flags.values.limit)));
  const list =
    flags.values.all === true
      ? await everywhere(program, flags, limit)
      : opened.workspace.archive.list().filter(isOwnJob).slice(-limit).map(toListedJob);
  if (program.json)
    return printJson(program, { jobs: list.map((job) => toJobJson(job, isAliveIn(opened.workspace, job))) });
  const shown = {
    withWorkspace: flags.values.all === true,
    withIds: flags.values.ids === true,
    nameColumns: Math.max(0, ...list.map((job) => nameJob(job).length)),
  };
  const report = program.outIsTerminal ? await import("./terminal-report.ts") : null;
  if (list.length > 0 && report?.hasReportLook(program)) {
    const rows = list.map((job) => ({
      job: { ...job, title: printable(job.title) },
      name: nameInList(job, shown),
      status: toJobStatus(job, isAliveIn(opened.workspace, job)),
      remark: wordInterruption(opened.messages, job),
    }));
    const text = report.lookOfJobs(program, opened.messages, rows, shown);
    await program.page(`${text}\n${await remarks(opened, list)}`);
    return EXIT.done;
  }
  // Titles are a model's words, or a command's: none of their bytes may steer the terminal behind the pipe.
  const text = list.length === 0 ? opened.messages.noJobs : table(opened, list, shown);
  program.out(`${printable(text)}\n${await remarks(opened, list)}`);
  return EXIT.done;
}

async function everywhere(program: CliProgram, flags: Flags, limit: number): Promise<ListedJob[]> {
  const { index } = await openOrStop(program, flags.values, program.openIndex, "store");
  await using _ = closing(index);
  await index.syncAll();
  return (await index.jobs({ limit })).reverse();
}

/** A job without a process in its record counts as running while it says so. */
export function isAliveIn({ isAlive }: Pick<Workspace, "isAlive">, job: ListedJob): boolean {
  return job.pid === undefined || isAlive(job);
}

/** Jobs that cannot be used, and the possible actions for waiting ones. */
async function remarks(opened: OpenedWorkspace, list: readonly ListedJob[]): Promise<string> {
  const { messages, workspace } = opened;
  const own = workspace.archive.list();
  const jobIds = new Set(list.map(({ jobId }) => jobId));
  const undo = await workspace.findDamagedUndo({ whole: false, jobIds });
  const lines = [
    ...wordUnreadable(messages, [...own.filter(({ closed }) => closed !== undefined), ...list]),
    ...undo.map(({ jobId, file, lost }) =>
      messages.undoDamaged(nameJobId(workspace.archive, jobId), file, lost),
    ),
    ...own.flatMap((job) =>
      job.notes.flatMap((note) => {
        const isLost = typeof note !== "string" && note.code === "rebuilt" && note.paths.length > 0;
        return isLost && jobIds.has(job.jobId)
          ? [`${messages.jobLine(nameJob(job))}: ${wordNote(messages, note)}`]
          : [];
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

interface ShownColumns {
  readonly withWorkspace: boolean;
  readonly withIds: boolean;
  readonly nameColumns: number;
}

/** By number, as people name jobs; those of other folders are numbered separately there, so they are listed by id. */
function nameInList(job: ListedJob, { withWorkspace, withIds, nameColumns }: ShownColumns): string {
  if (withWorkspace) return job.jobId;
  return withIds ? `${nameJob(job).padEnd(nameColumns)}  ${job.jobId}` : nameJob(job);
}

/** Beside the status of a job in a list: its interruption, or how that was settled; else empty. */
function wordInterruption(
  messages: OpenedWorkspace["messages"],
  { interruptions, standsRepaired }: ListedJob,
): string {
  const last = interruptions?.at(-1);
  if (last === undefined || (last.outcome !== "open" && standsRepaired !== true)) return "";
  return ` (${messages.interruption(last)})`;
}

function table(
  { messages, workspace }: OpenedWorkspace,
  list: readonly ListedJob[],
  shown: ShownColumns,
): string {
  const { jobsHeader } = messages;
  const rows = [
    [jobsHeader.job, jobsHeader.time, jobsHeader.result, jobsHeader.changes, jobsHeader.undo, ""],
    ...list.map((job) => [
      nameInList(job, shown),
      localTime(job.createdAt),
      `${wordStatus(messages, {
        status: toJobStatus(job, isAliveIn(workspace, job)),
        failedCmds: job.failedCmds,
      })}${wordInterruption(messages, job)}`,
      String(job.changeCount),
      messages.undoStates[toUndoState(job)],
      shown.withWorkspace ? `${job.workspace}  ${job.title}` : job.title,
    ]),
  ];
  return columnsOf(rows);
}
