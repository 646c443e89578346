import type { StoredJob } from "../../application/ports/jobs.ts";
import type { Opened } from "../../application/ports/opening.ts";
import { foldChanges, foldedLines } from "../../application/work/report/change-lines.ts";
import { diffText } from "../../application/work/report/diff-text.ts";
import { storedFacts } from "../../application/work/report/job-facts.ts";
import { listed, toJobJson } from "../../application/work/report/job-json.ts";
import { notesOf, summaryOf, wordHeadline } from "../../application/work/report/word-job.ts";
import { localTime } from "../../domain/texts/local-time.ts";
import { shownPath } from "../../domain/texts/shown-path.ts";
import type { Subcommand } from "./command.ts";
import { fail } from "./fail.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { isAliveIn } from "./jobs.ts";
import { printable } from "./printable.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { colourDiff } from "./terminal/colour-diffs.ts";

/** `show JOB [--diff] [--all]`: one job with its commands and changes, from the journal. */
export const command: Subcommand = {
  name: "show",
  usage: "show [JOB]",
  flags: { diff: "boolean", all: "boolean" },
  words: 1,
  run: show,
};

async function show(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, command, args);
  const opened = await openFromFlags(program, flags);
  const {
    messages,
    workspace: { archive },
  } = opened;
  const jobs = archive.list();
  const [name] = flags.words;
  const job = name === undefined ? jobs.at(-1) : jobs.find(({ jobId }) => jobId === name);
  if (job === undefined) {
    const text = name === undefined ? messages.noJobs : messages.unknownJob(name);
    const failure = { exitCode: EXIT.usage, code: "unknown-job", text };
    return fail(program, flags.values.json === true, failure);
  }
  const diff = flags.values.diff === true ? await diffText(archive.differences(job.jobId)) : null;
  if (flags.values.json === true) {
    program.out(
      `${JSON.stringify({ ...toJobJson(listed(job), isAliveIn(opened.workspace, listed(job))), events: archive.events(job.jobId), ...(diff !== null && { diff }) })}\n`,
    );
    return EXIT.done;
  }
  // File names and outputs are a stranger's: none of their bytes may steer the terminal.
  const text = printable(describe(opened, job, { all: flags.values.all === true }));
  if (diff === null) program.out(text);
  else if (!program.outIsTerminal) program.out(`${text}\n${diff}`);
  else {
    const shown = program.env.NO_COLOR ? printable(diff) : colourDiff(printable(diff));
    await program.page(`${text}\n${shown}`);
  }
  return EXIT.done;
}

function describe(opened: Opened, job: StoredJob, { all }: { readonly all: boolean }): string {
  const { messages, workspace } = opened;
  const { archive } = workspace;
  const facts = storedFacts(job, archive.events(job.jobId), isAliveIn(opened.workspace, listed(job)));
  const lines = [
    wordHeadline(messages, facts),
    "",
    `${messages.jobLine(job.jobId)}  ${localTime(job.createdAt)}  (${job.kind}, ${messages.jobsHeader.undo}: ${messages.undoStates[facts.undo]})`,
    job.title,
    summaryOf(messages, facts),
    ...(facts.status === "interrupted" && job.unsettled ? [messages.jobInterrupted(job.jobId)] : []),
    "",
  ];
  const folded = foldChanges(job.changes);
  const out = new Set(folded.ignored.map(({ path }) => path));
  for (const { event } of archive.events(job.jobId)) {
    if (event.type === "command_started")
      lines.push(
        `[${event.index + 1}] ${event.command.type} ${event.command.action} ${event.command.target.trim().split("\n")[0]}`,
      );
    if (event.type !== "command_finished") continue;
    lines.push(
      `    ${event.success ? "✓" : "✗"} ${event.duration}ms${event.error === "" ? "" : `  ${messages.errorLabel} ${event.error}`}`,
    );
    if (event.output.trim() !== "")
      lines.push(
        ...event.output
          .trimEnd()
          .split("\n")
          .slice(0, 20)
          .map((line) => `      ${line}`),
      );
    const changes = all
      ? event.changes
      : foldChanges(event.changes).files.filter(({ path }) => !out.has(path));
    lines.push(...changes.slice(0, 20).map(({ path, kind }) => `      ${kind} ${shownPath(path)}`));
  }
  lines.push(
    "",
    messages.changesHeader(job.changes.length),
    ...(all ? job.changes : folded.files).map(({ path, kind }) => `  ${kind} ${shownPath(path)}`),
    ...(all ? [] : foldedLines(messages, folded)),
    ...notesOf(messages, facts),
  );
  return `${lines.join("\n")}\n`;
}
