import { takeBackFacts } from "../../application/jobs/action-report.ts";
import { chooseJobs } from "../../application/jobs/job-facts.ts";
import type { OpenedWorkspace, TakeBack } from "../../application/ports/jobs-workspace.ts";
import { changedFiles, nameJob } from "../../domain/jobs/result.ts";
import { type Flags, printable, type Subcommand } from "./command.ts";
import { openFromFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { repairFirst } from "./repair-first.ts";
import { reportAction, swappedJson } from "./report-action.ts";

export const command: Subcommand = {
  name: "undo",
  usage: "undo [JOB …|GROUP]",
  flags: { list: "boolean", force: "boolean" },
  words: 50,
  run: (program, flags) => undoOrRedo(program, flags, "undo"),
};

export const redoCommand: Subcommand = {
  ...command,
  name: "redo",
  usage: "redo [JOB …|GROUP]",
  run: (program, flags) => undoOrRedo(program, flags, "redo"),
};

/** `undo [JOB|GROUP]`, `redo [JOB|GROUP]`: the same swap in either direction. */
async function undoOrRedo(program: CliProgram, flags: Flags, direction: "undo" | "redo"): Promise<number> {
  const { values, words, json } = flags;
  const opened = await openFromFlags(program, flags);
  await repairFirst(program, opened);
  const request = {
    direction,
    force: values.force === true,
    ...(words.length > 0 && { name: words.join(" ") }),
  };
  if (values.list === true) return list(program, opened, request, json);
  return report(program, opened, await opened.workspace.takeBack(request), direction, json);
}

function list(
  program: CliProgram,
  opened: OpenedWorkspace,
  request: Parameters<typeof chooseJobs>[1],
  json: boolean,
): number | Promise<number> {
  const { messages } = opened;
  const chosen = chooseJobs(opened.workspace, request);
  if (chosen === "unknown" || chosen === "nothing")
    return report(program, opened, { status: chosen, name: request.name ?? "" }, request.direction, json);
  const [job] = chosen;
  if (job?.closed !== undefined) {
    const refused = { status: "refused", reason: "closed", before: [], paths: [job.closed] } as const;
    return report(program, opened, { ...refused, job, state: job.state }, request.direction, json);
  }
  const jobs = chosen.map(({ jobId, changes }) => ({ job_id: jobId, changes: changedFiles(changes) }));
  if (json) program.out(`${JSON.stringify({ jobs })}\n`);
  else
    for (const job of chosen) {
      const paths = changedFiles(job.changes).map(({ path }) => path);
      program.out(printable(`${messages.undoList(nameJob(job), paths)}\n`));
    }
  return EXIT.done;
}

function report(
  program: CliProgram,
  opened: OpenedWorkspace,
  outcome: TakeBack,
  direction: "undo" | "redo",
  json: boolean,
): Promise<number> {
  const facts = takeBackFacts(opened.workspace, direction, outcome);
  const document = { success: true, status: facts.status, jobs: swappedJson(facts) };
  return reportAction(program, opened.messages, facts, { json, document });
}
