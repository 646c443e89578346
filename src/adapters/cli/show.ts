import { toReason } from "../../application/history/find-why.ts";
import { wordWork } from "../../application/history/word-why.ts";
import {
  diffText,
  interruptedDirection,
  resolveJobName,
  storedFacts,
  toEndReason,
  toJobJson,
  toListedJob,
  validatedJournal,
  WHOLE_DIFF,
  withNumbers,
} from "../../application/jobs/job-facts.ts";
import type { StoredJob } from "../../application/ports/jobs.ts";
import type { DamagedUndo } from "../../application/ports/jobs-transaction.ts";
import type { OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import {
  type CommandResult,
  changedFiles,
  countFiles,
  type InterruptedFiles,
  nameJob,
  toJobStatus,
} from "../../domain/jobs/result.ts";
import { localTime, shownPath } from "../../domain/texts/format-text.ts";
import { historyMessagesFor } from "../../domain/texts/history.ts";
import { reportMessages } from "../../domain/texts/jobs.ts";
import {
  foldChanges,
  foldedLines,
  interruptedFileLines,
  wordUnreadable,
} from "../../domain/texts/jobs-notes.ts";
import {
  withoutOutput,
  wordAllNotes,
  wordEnd,
  wordError,
  wordHeadline,
  wordSummary,
} from "../../domain/texts/jobs-report.ts";
import { runningMessagesFor } from "../../domain/texts/jobs-running.ts";
import { type Flags, printable, printableDiff, printJson, refuseInput, type Subcommand } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { isAliveIn } from "./jobs.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** Lines of one command's output, and of its changes, that are shown without `--all`. */
const SHOWN_LINES = 20;

interface ShownJob {
  readonly all: boolean;
  /** Of a swap that was cut off. */
  readonly files?: InterruptedFiles | null;
  readonly damagedUndo?: DamagedUndo | undefined;
}

/** A job as `show` prints it. `all`: with everything in the journal. */
export function describeJob(
  { messages, workspace }: OpenedWorkspace,
  job: StoredJob,
  { all, files, damagedUndo }: ShownJob,
): string {
  const journal = workspace.archive.events(job.jobId);
  const alive = isAliveIn(workspace, toListedJob(job));
  const [facts, name] = [withNumbers(workspace.archive, storedFacts(job, journal, alive)), nameJob(job)];
  const work = toReason(job, job.jobId, journal);
  const folded = foldChanges(job.changes);
  const out = new Set(folded.ignored.map(({ path }) => path));
  const atMost = (lines: readonly string[]) => {
    const more = lines.length - SHOWN_LINES;
    const shown = all || more <= 0 ? lines : [...lines.slice(0, SHOWN_LINES), messages.moreLines(more)];
    return shown.map((line) => `      ${line}`);
  };
  const finished = ({ success, duration, error, output, changes }: Omit<CommandResult, "command">) => [
    `    ${success ? "✓" : "✗"} ${duration}ms${error === "" ? "" : `  ${messages.errorLabel} ${wordError(messages, error)}`}`,
    ...(output.trim() === "" ? [] : atMost(wordError(messages, output.trimEnd()).split("\n"))),
    ...atMost(
      (all ? changes : foldChanges(changes).files.filter(({ path }) => !out.has(path))).map(
        ({ path, kind }) => `${messages.changeKinds[kind]} ${shownPath(path)}`,
      ),
    ),
  ];
  let [attempt, command]: [number, CommandResult["command"] | null] = [1, null];
  const commands = validatedJournal(journal).flatMap(({ event }) => {
    if (event.type === "command_finished")
      return finished(command === null ? event : withoutOutput({ ...event, command }));
    if (event.type !== "command_started") return [];
    command = event.command;
    const { type, action, target } = command;
    const line = `[${event.index + 1}] ${type} ${action} ${target.trim().split("\n")[0]}`;
    if ((event.attempt ?? 1) <= attempt) return [line];
    attempt = event.attempt ?? 1;
    return ["", runningMessagesFor(messages.locale).attempt(attempt), line];
  });
  const lines = [
    [wordHeadline(messages, facts), wordEnd(messages, toEndReason(job, journal))].filter(Boolean).join(": "),
    "",
    `${messages.jobLine(name)}  ${localTime(job.createdAt)}  (${job.kind}, ${messages.jobsHeader.undo}: ${messages.undoStates[facts.undo]})`,
    job.title,
    ...(facts.totalCmds === 0 ? [] : [wordSummary(messages, facts)]),
    ...(work.attempts === 0 ? [] : wordWork(historyMessagesFor(messages.locale), work)),
    ...wordUnreadable(messages, [job]),
    ...(damagedUndo === undefined ? [] : [messages.undoDamaged(name, damagedUndo.file, damagedUndo.lost)]),
    ...(facts.status !== "interrupted" || (job.state === "staged" && !job.unsettled)
      ? []
      : [job.unsettled ? messages.jobInterrupted(name, interruptedDirection(job)) : messages.jobDied(name)]),
    ...(files ? interruptedFileLines(messages, files, all ? Number.POSITIVE_INFINITY : SHOWN_LINES) : []),
    ...(commands.length === 0 ? [] : ["", ...commands]),
    "",
    messages.changesHeader(countFiles(job.changes)),
    ...(all ? changedFiles(job.changes) : folded.files).map(
      ({ path, kind }) => `  ${messages.changeKinds[kind]} ${shownPath(path)}`,
    ),
    ...(all ? [] : foldedLines(messages, folded)),
    ...wordAllNotes(messages, facts),
    ...(job.state === "staged" && job.unsettled === undefined
      ? [reportMessages(messages.locale).previewHint("terminal", name, countFiles(job.changes))]
      : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** The same as a card: what was done, the difference in colour, then the verdict and the journal. */
async function describeAsCard(
  program: CliProgram,
  { messages, workspace }: OpenedWorkspace,
  job: StoredJob,
  { text, label, isWhole }: { readonly text: string; readonly label: string; readonly isWhole: boolean },
): Promise<string> {
  const { cardBlock, jobLines } = await import("./terminal-card.ts");
  const { lookOfReport } = await import("./terminal-report.ts");
  const { styleFor } = await import("./terminal-style.ts");
  const { terminalMessagesFor } = await import("../../domain/texts/cli-terminal.ts");
  const words = terminalMessagesFor(messages.locale);
  const listed = toListedJob(job);
  const card = cardBlock(
    {
      title: job.title,
      label,
      lines: jobLines(workspace.archive, job.jobId, words),
      remarks: [],
      ...(isWhole && { mostLines: Number.POSITIVE_INFINITY }),
    },
    { ...words, moreLines: (count) => words.moreInShow(count, label) },
    () => styleFor(program),
  );
  const status = toJobStatus(listed, isAliveIn(workspace, listed));
  return `${card.render(program.columns()).slice(1).join("\n")}\n\n${lookOfReport(program, text, status)}`;
}

/** `show JOB [--diff] [--all]`: one job with its commands and changes, from the journal. `show JOB:FILE`: a file after it. */
export const command: Subcommand = {
  name: "show",
  usage: "show [JOB[:FILE]]",
  flags: "--diff --all",
  words: 1,
  run: show,
};

async function show(program: CliProgram, flags: Flags): Promise<number> {
  const file = /^([^:]+):(.+)$/s.exec(flags.words[0] ?? "");
  if (file !== null)
    return (await import("./diff.ts")).showFile(program, flags, file[1] ?? "", file[2] ?? "");
  const opened = await openOrStop(program, flags.values, program.openWorkspace);
  const { messages } = opened;
  const { archive } = opened.workspace;
  const jobs = archive.list();
  const [name] = flags.words;
  const named = name === undefined ? undefined : resolveJobName(opened.workspace, name);
  const job = name === undefined ? jobs.at(-1) : jobs.find(({ jobId }) => jobId === named);
  if (job === undefined) {
    const text = name === undefined ? messages.noJobs : messages.unknownJob(name, "terminal");
    return refuseInput(program, "unknown-job", text);
  }
  const diff =
    flags.values.diff === true
      ? await diffText(archive.walkDifferences(job.jobId, undefined, { modes: true }), WHOLE_DIFF)
      : null;
  const { jobId } = job;
  const interruption = await opened.workspace.findInterruption();
  const files = interruption?.jobId === jobId ? interruption.files : null;
  if (program.json)
    return printJson(program, {
      ...toJobJson(toListedJob(job), isAliveIn(opened.workspace, toListedJob(job))),
      ...(files !== null && { interrupted_files: files }),
      events: archive.events(jobId),
      ...(diff !== null && { diff }),
    });
  // File names and outputs are a stranger's: none of their bytes may steer the terminal.
  const [damaged] = await opened.workspace.findDamagedUndo({ whole: false, jobIds: new Set([jobId]) });
  const all = flags.values.all === true;
  const text = printable(describeJob(opened, job, { all, files, damagedUndo: damaged }));
  const report = program.outIsTerminal ? await import("./terminal-report.ts") : null;
  if (report?.hasReportLook(program)) {
    const about = { text, label: nameJob(job), isWhole: diff !== null };
    await program.page(await describeAsCard(program, opened, job, about));
  } else program.out(diff === null ? text : `${text}\n${printableDiff(diff)}`);
  return EXIT.done;
}
