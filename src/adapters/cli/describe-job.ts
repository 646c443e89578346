import type { StoredJob } from "../../application/ports/jobs.ts";
import type { JobEvent } from "../../application/ports/journal.ts";
import type { Opened } from "../../application/ports/opening.ts";
import { foldChanges, foldedLines } from "../../application/jobs/change-lines.ts";
import { storedFacts } from "../../application/jobs/job-facts.ts";
import { toListedJob } from "../../application/jobs/job-json.ts";
import { validatedJournal } from "../../application/jobs/judged-journal.ts";
import { wordAllNotes, wordHeadline, wordSummary } from "../../application/jobs/job-report.ts";
import { localTime } from "../../domain/texts/local-time.ts";
import { reportMessages } from "../../domain/texts/messages.ts";
import { shownPath } from "../../domain/texts/shown-path.ts";
import { isAliveIn } from "./jobs.ts";

/** Lines of one command's output, and of its changes, that are shown without `--all`. */
const SHOWN_LINES = 20;

/** A job as `show` tells it. `all`: nothing of what the journal holds is left out. */
export function describeJob(
  { messages, workspace }: Opened,
  job: StoredJob,
  { all }: { readonly all: boolean },
): string {
  const journal = workspace.archive.events(job.jobId);
  const facts = storedFacts(job, journal, isAliveIn(workspace, toListedJob(job)));
  const folded = foldChanges(job.changes);
  const out = new Set(folded.ignored.map(({ path }) => path));
  const atMost = (lines: readonly string[]) => {
    const more = lines.length - SHOWN_LINES;
    const shown = all || more <= 0 ? lines : [...lines.slice(0, SHOWN_LINES), messages.moreLines(more)];
    return shown.map((line) => `      ${line}`);
  };
  const finished = ({ success, duration, error, output, changes }: CommandFinished) => [
    `    ${success ? "✓" : "✗"} ${duration}ms${error === "" ? "" : `  ${messages.errorLabel} ${error}`}`,
    ...(output.trim() === "" ? [] : atMost(output.trimEnd().split("\n"))),
    ...atMost(
      (all ? changes : foldChanges(changes).files.filter(({ path }) => !out.has(path))).map(
        ({ path, kind }) => `${kind} ${shownPath(path)}`,
      ),
    ),
  ];
  const lines = [
    wordHeadline(messages, facts),
    "",
    `${messages.jobLine(job.jobId)}  ${localTime(job.createdAt)}  (${job.kind}, ${messages.jobsHeader.undo}: ${messages.undoStates[facts.undo]})`,
    job.title,
    wordSummary(messages, facts),
    ...(facts.status === "interrupted" && job.unsettled
      ? [messages.jobInterrupted(job.jobId, interruptedDirection(job))]
      : []),
    "",
    ...validatedJournal(journal).flatMap(({ event }) => {
      if (event.type === "command_started") return [commandStarted(event)];
      return event.type === "command_finished" ? finished(event) : [];
    }),
    "",
    messages.changesHeader(job.changes.length),
    ...(all ? job.changes : folded.files).map(({ path, kind }) => `  ${kind} ${shownPath(path)}`),
    ...(all ? [] : foldedLines(messages, folded)),
    ...wordAllNotes(messages, facts),
    ...(job.state === "staged" && job.unsettled === undefined
      ? [reportMessages(messages.locale).previewHint.terminal(job.jobId, job.changes.length)]
      : []),
  ];
  return `${lines.join("\n")}\n`;
}

type CommandFinished = Extract<JobEvent, { type: "command_finished" }>;

function commandStarted({ index, command }: Extract<JobEvent, { type: "command_started" }>): string {
  return `[${index + 1}] ${command.type} ${command.action} ${command.target.trim().split("\n")[0]}`;
}

/** One whose commit never began died on its way there. */
function interruptedDirection({ interruptions = [] }: StoredJob) {
  return interruptions.find(({ outcome }) => outcome === "open")?.direction ?? "commit";
}
