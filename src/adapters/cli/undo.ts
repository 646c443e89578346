import {
  type ActionCode,
  type ActionFacts,
  discardFacts,
  previewFacts,
  stopFacts,
  takeBackFacts,
  wordAction,
} from "../../application/jobs/action-report.ts";
import {
  chooseJobs,
  nameJobId,
  resolveJobName,
  storedFacts,
  waitingPreview,
} from "../../application/jobs/job-facts.ts";
import type { OpenedWorkspace, TakeBack } from "../../application/ports/jobs-workspace.ts";
import { changedFiles, nameJob } from "../../domain/jobs/result.ts";
import { toResultJson, wordJob } from "../../domain/texts/jobs-report.ts";
import {
  type Flags,
  fail,
  printable,
  printJson,
  refuseInput,
  refuseUsage,
  refuseWork,
  type Subcommand,
  styleReport,
  succeed,
} from "./command.ts";
import { openOrStop, usageText } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { repairFirst } from "./repair-first.ts";

export const command: Subcommand = {
  name: "undo",
  usage: "undo [JOB …|GROUP]",
  flags: "--list --force",
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
async function undoOrRedo(
  program: CliProgram,
  { values, words }: Flags,
  direction: "undo" | "redo",
): Promise<number> {
  const opened = await openOrStop(program, values, program.openWorkspace);
  const { messages, workspace } = opened;
  await repairFirst(program, opened);
  const report = (outcome: TakeBack) => {
    const facts = takeBackFacts(workspace, direction, outcome);
    return reportAction(program, opened, facts, {
      success: true,
      status: facts.status,
      jobs: swappedJson(facts),
    });
  };
  const request = {
    direction,
    force: values.force === true,
    ...(words.length > 0 && { name: words.join(" ") }),
  };
  if (values.list !== true) return report(await workspace.takeBack(request));
  const chosen = chooseJobs(workspace, request);
  if (chosen === "unknown" || chosen === "nothing")
    return report({ status: chosen, name: request.name ?? "" });
  const [job] = chosen;
  if (job?.closed !== undefined)
    return report({
      status: "refused",
      reason: "closed",
      before: [],
      paths: [job.closed],
      job,
      state: job.state,
    });
  if (program.json) {
    const jobs = chosen.map(({ jobId, changes }) => ({ job_id: jobId, changes: changedFiles(changes) }));
    return printJson(program, { jobs });
  }
  for (const one of chosen) {
    const paths = changedFiles(one.changes).map(({ path }) => path);
    program.out(printable(`${messages.undoList(nameJob(one), paths)}\n`));
  }
  return EXIT.done;
}

/** `stop JOB`: ends a running job, with everything that it runs; nothing of it is applied. */
export const stopCommand: Subcommand = { name: "stop", usage: "stop JOB", words: 1, run: stop };

async function stop(program: CliProgram, flags: Flags): Promise<number> {
  const [given] = flags.words;
  // A background process of the list of what runs.
  if (given?.startsWith("proc_")) return (await import("./ps.ts")).stopById(program, flags);
  const opened = await openOrStop(program, flags.values, program.openWorkspace);
  if (given === undefined) return refuseUsage(program, usageText(program, stopCommand));
  const jobId = resolveJobName(opened.workspace, given);
  const facts = stopFacts(opened.workspace, jobId, await opened.workspace.stop(jobId));
  return reportAction(program, opened, facts, { success: true, status: facts.status, job_id: jobId });
}

/**
 * `discard [JOB]`: discards a preview; without a name only if one waits, because it cannot be restored.
 * `discard JOB --aside`: removes the originals that the job's roll-back could not put back, and nothing else.
 */
export const discardCommand: Subcommand = {
  name: "discard",
  usage: "discard [JOB]",
  flags: "--aside",
  words: 1,
  run: discard,
};

async function discard(program: CliProgram, { values, words: [given] }: Flags): Promise<number> {
  const opened = await openOrStop(program, values, program.openWorkspace);
  const { messages, workspace } = opened;
  const named = given === undefined ? undefined : resolveJobName(workspace, given);
  if (values.aside === true) return discardAside(program, opened, named);
  const waiting = named ?? waitingPreview(workspace.archive.list());
  if (typeof waiting === "object" && "several" in waiting)
    return refuseInput(program, "several-previews", messages.previewsWait(waiting.several));
  const jobId = typeof waiting === "object" ? waiting.jobId : (waiting ?? "");
  const outcome =
    waiting === undefined ? ({ status: "nothing" } as const) : await workspace.discardPreview(jobId);
  const facts = discardFacts(workspace, jobId, outcome);
  return reportAction(program, opened, facts, { success: true, status: facts.status, job_id: jobId });
}

async function discardAside(
  program: CliProgram,
  opened: OpenedWorkspace,
  jobId: string | undefined,
): Promise<number> {
  const { messages, workspace } = opened;
  if (jobId === undefined) return refuseUsage(program, messages.asideNeedsJob);
  const name = nameJobId(workspace.archive, jobId);
  const removed = await program.removeKeptAside(opened, jobId);
  if (removed === null) return refuseInput(program, "nothing-aside", messages.asideNone(name));
  if (removed === "unfinished") return refuseWork(program, "unfinished", messages.asideUnfinished(name));
  const { files, bytes } = removed;
  const document = { success: true, status: "removed", job_id: jobId, files, bytes };
  return succeed(program, document, messages.asideRemoved({ ...removed, jobId: name }));
}

/** `apply --job JOB`: commits exactly what the preview showed; a dry run shows it. */
export async function applyPreview(
  program: CliProgram,
  opened: OpenedWorkspace,
  name: string,
  isDryRun: boolean,
): Promise<number> {
  const { messages, workspace } = opened;
  const { archive } = workspace;
  const jobId = resolveJobName(workspace, name);
  const report = (outcome: Parameters<typeof previewFacts>[2], document = {}) =>
    reportAction(program, opened, previewFacts(workspace, jobId, outcome), document);
  if (!isDryRun) {
    const outcome = await workspace.commitPreview(jobId);
    if (outcome.status !== "done") return report(outcome);
    return report(outcome, toResultJson(messages, storedFacts(outcome.job, archive.events(jobId), false)));
  }
  const job = archive.read(jobId);
  if (job === null) return report({ status: "unknown" });
  if (job.state !== "staged") return report({ status: "not-a-preview", job });
  const facts = storedFacts(job, archive.events(jobId), false);
  if (program.json) return printJson(program, { ...toResultJson(messages, facts), dry_run: true });
  program.out(`${await styleReport(program, printable(wordJob(messages, facts)), facts.status)}\n`);
  return EXIT.done;
}

/** Reports the result of undo, redo, a preview or a stop. `document`: the output for a program if all succeeded. */
async function reportAction(
  program: CliProgram,
  { messages }: OpenedWorkspace,
  facts: ActionFacts,
  document: object,
): Promise<number> {
  const text = wordAction(messages, facts, "terminal");
  if (facts.code === "done") {
    if (program.json) return printJson(program, document);
    program.out(`${await styleReport(program, printable(text), facts.status)}\n`);
    return EXIT.done;
  }
  const { name, state, conflicts, done } = facts;
  const half = done.length > 0;
  return fail(program, {
    exitCode: half ? EXIT.failed : exitCodeOf(facts),
    code: facts.code,
    text,
    facts: {
      ...(facts.status !== null && { status: facts.status }),
      ...(facts.code !== "nothing" && facts.code !== "unknown-job" && { job_id: name }),
      ...(state !== undefined && { state }),
      ...(conflicts.length > 0 && { conflicts }),
      ...(half && { jobs: swappedJson(facts) }),
    },
  });
}

function swappedJson({ done }: ActionFacts): readonly Record<string, unknown>[] {
  return done.map(({ jobId, changes, left }) => ({ job_id: jobId, changes: changedFiles(changes), left }));
}

const USAGE: readonly ActionCode[] = ["unknown-job", "not-a-preview"];

function exitCodeOf({ code, action }: ActionFacts) {
  if (USAGE.includes(code)) return EXIT.usage;
  return code === "conflict" && action === "apply" ? EXIT.failed : EXIT.refused;
}
