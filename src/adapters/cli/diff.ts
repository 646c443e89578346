import { relative, resolve } from "node:path";
import { findPlace, openStateAfter, readState, walkStates } from "../../application/history/earlier-draft.ts";
import { diffText, nameJobId, resolveJobName, WHOLE_DIFF } from "../../application/jobs/job-facts.ts";
import type { HandEdit, JobStack } from "../../application/ports/history.ts";
import type { FileDifference } from "../../application/ports/jobs.ts";
import { historyMessagesFor } from "../../domain/texts/history.ts";
import { type Flags, printable, printableDiff, printJson, refuseInput, type Subcommand } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `diff [JOB | A..B] [FILE]`: what a job changed, or what changed between two of them. */
export const command: Subcommand = { name: "diff", usage: "diff [JOB|A..B] [FILE]", words: 2, run: diff };

const MOST_NAMED = 5;

async function diff(program: CliProgram, { values, words }: Flags): Promise<number> {
  const { history, messages, workspace } = await openOrStop(program, values, program.openHistory);
  const texts = historyMessagesFor(messages.locale);
  const stop = (code: string, text: string) => refuseInput(program, code, text);
  const [name, file] = words;
  const stack = history.stack();
  const path = file === undefined ? undefined : belowRoot(workspace.root, program.cwd, file);
  const isOwn = (one: FileDifference) =>
    (path === undefined || one.path === path) && !one.path.startsWith(".git/");
  let differences: Iterable<FileDifference>;
  let handEdits: readonly HandEdit[] = [];
  if (name?.includes("..")) {
    const names = name.split("..");
    const [from = "", to = ""] = names.map((one) => (one === "" ? one : resolveJobName(workspace, one)));
    const [first, last] = [placeAfter(stack, from, 0), placeAfter(stack, to, stack.jobs.length)];
    if (first === null || last === null) {
      const missing = first === null ? from : to;
      const isKnown = workspace.archive.list().some((job) => [job.jobId, job.groupId].includes(missing));
      return stop(
        "unknown-job",
        isKnown
          ? texts.badRange(nameJobId(workspace.archive, missing))
          : messages.unknownJob(missing, "terminal"),
      );
    }
    if (first > last && !program.json) program.err(`${texts.backwards(names)}\n`);
    const states = [openStateAfter(stack, first), openStateAfter(stack, to === "" ? null : last)] as const;
    differences = walkStates(...states);
    const key = ({ path, after }: HandEdit) => `${after} ${path}`;
    const [then, now] = states.map((state) => new Map(state.handEdits.map((edit) => [key(edit), edit])));
    handEdits = [...(now ?? []), ...(then ?? [])]
      .filter(([one]) => now?.has(one) !== then?.has(one))
      .map(([, edit]) => edit);
  } else {
    const jobId = name === undefined ? stack.jobs.at(-1)?.jobId : resolveJobName(workspace, name);
    if (jobId === undefined) return stop("no-jobs", texts.noJobs);
    if (workspace.archive.read(jobId) === null)
      return stop("unknown-job", messages.unknownJob(jobId, "terminal"));
    differences = workspace.archive.walkDifferences(jobId, undefined, { modes: true });
  }
  const chosen = [...differences].filter(isOwn);
  const text = await diffText(chosen, WHOLE_DIFF);
  const paths = [...new Set(handEdits.map((edit) => edit.path))].filter(
    (one) => path === undefined || one === path,
  );
  if (program.json)
    return printJson(program, { files: chosen.map((one) => one.path), hand_edits: paths, diff: text });
  if (paths.length > 0)
    program.err(`${printable(texts.handEdits(paths.slice(0, MOST_NAMED), paths.length - MOST_NAMED))}\n`);
  const report = program.outIsTerminal ? await import("./terminal-report.ts") : null;
  if (report?.hasReportLook(program)) {
    const [{ diffLines, diffRows }, { styleFor }, { terminalMessagesFor }] = await Promise.all([
      import("./terminal-card.ts"),
      import("./terminal-style.ts"),
      import("../../domain/texts/cli-terminal.ts"),
    ]);
    const lines = diffLines(chosen, terminalMessagesFor(messages.locale));
    await program.page(`${diffRows(lines, program.columns(), styleFor(program)).join("\n")}\n`);
  } else program.out(printableDiff(text));
  return EXIT.done;
}

/** The place behind a job, or behind the last one of a group; null where it is not part of the workspace. */
function placeAfter(stack: JobStack, name: string, otherwise: number): number | null {
  if (name === "") return otherwise;
  const place = findPlace(stack, name);
  if (place < 0) return null;
  return stack.jobs.findLastIndex(({ jobId, groupId }) => jobId === name || groupId === name) + 1;
}

/** `show JOB:FILE`: a file as it was after a job, or a group; of a job that is not in effect, as the job has it. */
export async function showFile(
  program: CliProgram,
  { values }: Flags,
  name: string,
  file: string,
): Promise<number> {
  const { history, messages, workspace } = await openOrStop(program, values, program.openHistory);
  const texts = historyMessagesFor(messages.locale);
  const stop = (code: string, text: string) => refuseInput(program, code, text);
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
  if (program.json) return printJson(program, { job_id: jobId, path, content: text });
  program.out(program.outIsTerminal ? printable(text) : text);
  return EXIT.done;
}

/** A path as a person types it, relative to the workspace: from the current folder, if that is below the root. */
export function belowRoot(root: string, cwd: string, path: string): string {
  return relative(root, resolve(cwd.startsWith(`${root}/`) ? cwd : root, path));
}
