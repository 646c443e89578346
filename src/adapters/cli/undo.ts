import type { Opened } from "../../application/ports/opening.ts";
import { describeConflict } from "../../application/work/report/describe-conflict.ts";
import { choose, type TakeBack, type TakenBack } from "../../application/work/take-back.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import type { Subcommand } from "./command.ts";
import { type CliFailure, fail } from "./fail.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { mendFirst } from "./mend-first.ts";
import { printable } from "./printable.ts";
import { type CliProgram, EXIT } from "./program.ts";

export const command: Subcommand = {
  name: "undo",
  usage: "undo [JOB|GROUP]",
  flags: { list: "boolean", force: "boolean" },
  words: 1,
  run: (program, args) => takeBack(program, args, command),
};

/** `undo [JOB|GROUP]`, `redo [JOB|GROUP]`: the same swap in either direction. */
export async function takeBack(
  program: CliProgram,
  args: readonly string[],
  asked: Subcommand,
): Promise<number> {
  const direction: "undo" | "redo" = asked.name === "redo" ? "redo" : "undo";
  const flags = await readFlags(program, asked, args);
  const opened = await openFromFlags(program, flags);
  await mendFirst(program, opened);
  const request = {
    direction,
    force: flags.values.force === true,
    ...(flags.words[0] !== undefined && { name: flags.words[0] }),
  };
  const json = flags.values.json === true;
  if (flags.values.list === true) return list(program, opened, request, json);
  return report(program, opened, await opened.workspace.takeBack(request), direction, json);
}

function list(
  program: CliProgram,
  opened: Opened,
  request: Parameters<typeof choose>[1],
  json: boolean,
): number {
  const { messages } = opened;
  const chosen = choose(opened.workspace, request);
  if (chosen === "unknown" || chosen === "nothing")
    return report(program, opened, { status: chosen, name: request.name ?? "" }, request.direction, json);
  if (json)
    program.out(
      `${JSON.stringify({ jobs: chosen.map(({ jobId, changes }) => ({ job_id: jobId, changes })) })}\n`,
    );
  else
    for (const { jobId, changes } of chosen) {
      const paths = changes.map(({ path }) => path);
      program.out(printable(`${messages.undoList(jobId, paths)}\n`));
    }
  return EXIT.done;
}

function report(
  program: CliProgram,
  opened: Opened,
  outcome: TakeBack,
  direction: "undo" | "redo",
  json: boolean,
): number {
  const { messages } = opened;
  if (outcome.status === "done") {
    if (json) program.out(`${JSON.stringify({ success: true, jobs: outcome.jobs.map(toJson) })}\n`);
    else program.out(printable(describe(messages, outcome.jobs, direction)));
    return EXIT.done;
  }
  const before = "before" in outcome ? outcome.before : [];
  if (before.length > 0 && !json) program.out(printable(describe(messages, before, direction)));
  const { exitCode, ...why } = explain(opened, outcome, direction);
  return fail(program, json, {
    ...why,
    exitCode: before.length > 0 ? EXIT.failed : exitCode,
    facts: { ...why.facts, ...(before.length > 0 && { jobs: before.map(toJson) }) },
  });
}

function describe(messages: Messages, jobs: readonly TakenBack[], direction: "undo" | "redo"): string {
  const lines: string[] = [];
  for (const { job, changes, left } of jobs) {
    const say = direction === "undo" ? messages.undone : messages.redone;
    lines.push(say(job.jobId, changes.length));
    const moved = left.filter(({ reason }) => reason === "moved-on").map(({ path }) => path);
    if (moved.length > 0) lines.push(messages.undonePartly({ jobId: job.jobId, refs: moved }));
    const kept = left.filter(({ reason }) => reason === "not-empty").map(({ path }) => path);
    if (kept.length > 0) lines.push(messages.foldersKept(kept));
  }
  return `${lines.join("\n")}\n`;
}

function explain(
  { messages, workspace }: Opened,
  outcome: Exclude<TakeBack, { status: "done" }>,
  direction: "undo" | "redo",
): CliFailure {
  switch (outcome.status) {
    case "nothing": {
      const text = direction === "undo" ? messages.nothingToUndo : messages.nothingToRedo;
      return { exitCode: EXIT.refused, code: "nothing", text };
    }
    case "unknown":
      return { exitCode: EXIT.usage, code: "unknown-job", text: messages.unknownJob(outcome.name) };
    case "conflict": {
      const { jobId } = outcome.job;
      const paths = outcome.conflicts.map((conflict) => describeConflict(messages, conflict));
      return {
        exitCode: EXIT.refused,
        code: "conflict",
        text: messages.undoConflict({ jobId, paths }),
        facts: { job_id: jobId, conflicts: outcome.conflicts },
      };
    }
    case "refused": {
      const { job, reason, state } = outcome;
      const { jobId, pid } = job;
      const facts = { job_id: jobId, state };
      const refused = (code: string, text: string) => ({ exitCode: EXIT.refused, code, text, facts });
      switch (reason) {
        case "busy":
          return refused(reason, messages.workspaceBusy(workspace.root));
        case "running":
          return pid !== undefined && workspace.isAlive(pid)
            ? refused(reason, messages.jobRunning(jobId, pid))
            : refused("died", messages.jobDied(jobId));
        case "evicted":
          return refused(reason, messages.undoUnavailable(jobId));
        case "not-undoable":
          return refused(reason, `${messages.undoUnavailable(jobId)} ${messages.shellNotUndoable}`);
        case "wrong-state":
          return refused(reason, messages.wrongState(jobId, state));
      }
    }
  }
}

function toJson({ job, changes, left }: TakenBack): Record<string, unknown> {
  return { job_id: job.jobId, changes, left };
}
