import { wordRepair } from "../../application/jobs/action-report.ts";
import { nameJobId } from "../../application/jobs/job-facts.ts";
import type { OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import { printable } from "./command.ts";
import type { CliProgram } from "./program.ts";

/** An interrupted commit is finished before anything new is built on it. */
export async function repairFirst(program: CliProgram, opened: OpenedWorkspace): Promise<void> {
  const repaired = await opened.workspace.repair();
  if (repaired === null) return;
  program.err(`${printable(wordRepair(opened.messages, opened.workspace.archive, repaired))}\n`);
}

/** A job that died in the middle of an earlier conversation is named once, and closed. */
export async function prepareFolder(program: CliProgram, opened: OpenedWorkspace): Promise<void> {
  await repairFirst(program, opened);
  for (const jobId of await opened.workspace.closeDeadJobs())
    program.err(`${opened.messages.jobDied(nameJobId(opened.workspace.archive, jobId))}\n`);
}
