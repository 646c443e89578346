import { findPlace, readState } from "../../application/history/earlier-draft.ts";
import { nameJobId, resolveJobName } from "../../application/jobs/job-facts.ts";
import { historyMessagesFor } from "../../domain/texts/history.ts";
import { type Flags, printable, refuseInput } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { belowRoot } from "./why.ts";

/** `show JOB:FILE`: a file as it was after a job, or a group; of a job that is not in effect, as the job has it. */
export async function showFile(
  program: CliProgram,
  { values, json }: Flags,
  name: string,
  file: string,
): Promise<number> {
  const { history, messages, workspace } = await openOrStop(program, values, program.openHistory);
  const texts = historyMessagesFor(messages.locale);
  const stop = (code: string, text: string) => refuseInput(program, json, code, text);
  const jobId = resolveJobName(workspace, name);
  const path = belowRoot(workspace.root, program.cwd, file);
  const stack = history.stack();
  const isKnown = workspace.archive.read(jobId) !== null || findPlace(stack, jobId) >= 0;
  if (!isKnown) return stop("unknown-job", messages.unknownJob(name, "terminal"));
  const place = stack.jobs.findLastIndex((job) => job.jobId === jobId || job.groupId === jobId);
  // A later manual edit is not part of the job's result.
  const own =
    place < 0 ? [...workspace.archive.walkDifferences(jobId, path)][0] : stack.difference(place, path);
  if (place < 0 && own === undefined)
    return stop("not-applied", texts.notStanding(nameJobId(workspace.archive, jobId)));
  const later = () => (place < 0 ? undefined : readState(stack.openBefore(place + 1), path));
  const bytes = own?.after !== undefined ? own.after : later();
  if (bytes === undefined) return stop("gone", texts.stateGone(path));
  if (bytes === null) return stop("no-file", texts.notInState(path, nameJobId(workspace.archive, jobId)));
  const text = new TextDecoder().decode(bytes);
  if (json) program.out(`${JSON.stringify({ job_id: jobId, path, content: text })}\n`);
  else program.out(program.outIsTerminal ? printable(text) : text);
  return EXIT.done;
}
