import { stopFacts } from "../../application/jobs/action-report.ts";
import { resolveJobName } from "../../application/jobs/job-facts.ts";
import { type Flags, refuseUsage, type Subcommand } from "./command.ts";
import { openFromFlags } from "./flags.ts";
import type { CliProgram } from "./program.ts";
import { reportAction } from "./report-action.ts";

/** `stop JOB`: ends a running job, with everything that it runs; nothing of it is applied. */
export const command: Subcommand = {
  name: "stop",
  usage: "stop JOB",
  words: 1,
  run: stop,
};

async function stop(program: CliProgram, flags: Flags): Promise<number> {
  const { json } = flags;
  // A background process of the list of what runs.
  if (/^proc_/.test(flags.words[0] ?? "")) return (await import("./ps.ts")).stopById(program, flags);
  const opened = await openFromFlags(program, flags);
  const { messages } = opened;
  const [given] = flags.words;
  if (given === undefined)
    return refuseUsage(program, json, messages.usageLines(command.usage, command.name));
  const jobId = resolveJobName(opened.workspace, given);
  const facts = stopFacts(opened.workspace, jobId, await opened.workspace.stop(jobId));
  const document = { success: true, status: facts.status, job_id: jobId };
  return reportAction(program, messages, facts, { json, document });
}
