import { choose, type TakeBack } from "../../application/work/take-back.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { mendFirst } from "./mend-first.ts";
import { type CliProgram, EXIT, type OpenWorker } from "./program.ts";

export const undo = (program: CliProgram, args: readonly string[]) => run(program, args, "undo");
export const redo = (program: CliProgram, args: readonly string[]) => run(program, args, "redo");

/** `undo [JOB|GROUP]`, `redo [JOB|GROUP]`: the same swap in either direction. */
async function run(
  program: CliProgram,
  args: readonly string[],
  direction: "undo" | "redo",
): Promise<number> {
  const flags = await readFlags(program, direction, args, { list: "boolean", force: "boolean" }, 1);
  const worker = await openFromFlags(program, flags);
  await mendFirst(program, worker);
  const request = {
    direction,
    force: flags.values.force === true,
    ...(flags.words[0] !== undefined && { name: flags.words[0] }),
  };
  const json = flags.values.json === true;
  if (flags.values.list === true) return list(program, worker, request, json);
  const outcome = await worker.takeBack(request);
  if (json) program.out(`${JSON.stringify(toJson(outcome))}\n`);
  return report(program, worker, outcome, direction, json);
}

function list(
  program: CliProgram,
  worker: OpenWorker,
  request: Parameters<typeof choose>[1],
  json: boolean,
): number {
  const { messages, archive } = worker;
  const chosen = choose(worker, request);
  if (chosen === "unknown") {
    program.err(`${messages.unknownJob(request.name ?? "")}\n`);
    return EXIT.usage;
  }
  if (chosen === "nothing") {
    program.err(`${request.direction === "undo" ? messages.nothingToUndo : messages.nothingToRedo}\n`);
    return EXIT.refused;
  }
  if (json)
    program.out(
      `${JSON.stringify({ jobs: chosen.map(({ jobId, changes }) => ({ job_id: jobId, changes })) })}\n`,
    );
  else
    for (const { jobId } of chosen)
      program.out(
        `${messages.undoList(
          jobId,
          (archive.read(jobId)?.changes ?? []).map(({ path }) => path),
        )}\n`,
      );
  return EXIT.done;
}

function report(
  program: CliProgram,
  { messages, workspace }: OpenWorker,
  outcome: TakeBack,
  direction: "undo" | "redo",
  json: boolean,
): number {
  const say = (text: string) => {
    if (!json) program.out(`${text}\n`);
  };
  switch (outcome.status) {
    case "done":
      for (const { job, changes, left } of outcome.jobs) {
        say(
          direction === "undo"
            ? messages.undone(job.jobId, changes.length)
            : messages.redone(job.jobId, changes.length),
        );
        const moved = left.filter(({ reason }) => reason === "moved-on").map(({ path }) => path);
        if (moved.length > 0) say(messages.undonePartly({ jobId: job.jobId, refs: moved }));
        const kept = left.filter(({ reason }) => reason === "not-empty").map(({ path }) => path);
        if (kept.length > 0) say(messages.foldersKept(kept));
      }
      return EXIT.done;
    case "nothing":
      program.err(`${direction === "undo" ? messages.nothingToUndo : messages.nothingToRedo}\n`);
      return EXIT.refused;
    case "unknown":
      program.err(`${messages.unknownJob(outcome.name)}\n`);
      return EXIT.usage;
    case "refused":
      program.err(
        `${outcome.reason === "busy" ? messages.workspaceBusy(workspace) : outcome.reason === "evicted" ? messages.undoUnavailable(outcome.job.jobId) : messages.wrongState(outcome.job.jobId, outcome.state)}\n`,
      );
      return EXIT.refused;
    case "conflict": {
      const paths = outcome.conflicts.map(({ path, by, reason }) =>
        by === undefined ? path : reason === "open" ? `${path} (${by})` : messages.changedByJob(path, by),
      );
      program.err(`${messages.undoConflict({ jobId: outcome.job.jobId, paths })}\n`);
      return EXIT.refused;
    }
  }
}

function toJson(outcome: TakeBack): Record<string, unknown> {
  switch (outcome.status) {
    case "done":
      return {
        success: true,
        jobs: outcome.jobs.map(({ job, changes, left }) => ({ job_id: job.jobId, changes, left })),
      };
    case "conflict":
      return { success: false, job_id: outcome.job.jobId, conflicts: outcome.conflicts };
    case "refused":
      return { success: false, job_id: outcome.job.jobId, reason: outcome.reason, state: outcome.state };
    default:
      return { success: false, reason: outcome.status };
  }
}
