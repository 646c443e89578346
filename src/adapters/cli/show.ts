import { diffText } from "../../application/jobs/diff-text.ts";
import { toJobJson, toListedJob } from "../../application/jobs/job-json.ts";
import type { Subcommand } from "./command.ts";
import { describeJob } from "./describe-job.ts";
import { fail } from "./fail.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { isAliveIn } from "./jobs.ts";
import { printable } from "./printable.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { colourDiff } from "./colour-diffs.ts";

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
      `${JSON.stringify({ ...toJobJson(toListedJob(job), isAliveIn(opened.workspace, toListedJob(job))), events: archive.events(job.jobId), ...(diff !== null && { diff }) })}\n`,
    );
    return EXIT.done;
  }
  // File names and outputs are a stranger's: none of their bytes may steer the terminal.
  const text = printable(describeJob(opened, job, { all: flags.values.all === true }));
  if (diff === null) program.out(text);
  else if (!program.outIsTerminal) program.out(`${text}\n${diff}`);
  else {
    const shown = program.env.NO_COLOR ? printable(diff) : colourDiff(printable(diff));
    await program.page(`${text}\n${shown}`);
  }
  return EXIT.done;
}
