import type { StoredJob } from "../../application/ports/jobs.ts";
import type { Opened } from "../../application/ports/opening.ts";
import { diffText } from "../../application/work/report/diff-text.ts";
import type { Subcommand } from "./command.ts";
import { fail } from "./fail.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { listed, resultOf, toJobJson, undoOf } from "./jobs.ts";
import { printable } from "./printable.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `show JOB [--diff]`: one job with its commands and changes, from the journal. */
export const command: Subcommand = {
  name: "show",
  usage: "show [JOB]",
  flags: { diff: "boolean" },
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
      `${JSON.stringify({ ...toJobJson(listed(job)), events: archive.events(job.jobId), ...(diff !== null && { diff }) })}\n`,
    );
    return EXIT.done;
  }
  // File names and outputs are a stranger's: none of their bytes may steer the terminal.
  program.out(printable(describe(opened, job)));
  if (diff !== null) program.out(`\n${program.outIsTerminal ? colour(printable(diff)) : diff}`);
  return EXIT.done;
}

function describe({ messages, workspace: { archive, isAlive } }: Opened, job: StoredJob): string {
  const lines = [
    `${messages.jobLine(job.jobId)}  ${messages.jobStates[resultOf(listed(job), isAlive)]}  ${job.createdAt}  (${job.kind}, ${messages.jobsHeader.undo}: ${messages.undoStates[undoOf(listed(job))]})`,
    job.title,
    messages.summary({ total: job.totalCmds, succeeded: job.executedCmds, failed: job.failedCmds }),
    "",
  ];
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
    lines.push(...event.changes.slice(0, 20).map(({ path, kind }) => `      ${kind} ${path}`));
  }
  lines.push(
    "",
    messages.changesHeader(job.changes.length),
    ...job.changes.map(({ path, kind }) => `  ${kind} ${path}`),
    ...job.notes,
  );
  return `${lines.join("\n")}\n`;
}

function colour(diff: string): string {
  return diff.replace(
    /^(\+.*|-.*|@@.*)$/gm,
    (line) => `\x1b[${line.startsWith("+") ? 32 : line.startsWith("-") ? 31 : 36}m${line}\x1b[0m`,
  );
}
