import { discardFacts } from "../../application/jobs/action-report.ts";
import { nameJobId, resolveJobName, waitingPreview } from "../../application/jobs/job-facts.ts";
import type { OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import { type Flags, refuseInput, refuseUsage, refuseWork, type Subcommand, succeed } from "./command.ts";
import { openFromFlags } from "./flags.ts";
import type { CliProgram } from "./program.ts";
import { reportAction } from "./report-action.ts";

/**
 * `discard [JOB]`: throws a preview away; unnamed, the only one that waits, because it cannot be brought back.
 * `discard JOB --aside`: removes the originals that the job's roll-back could not put back, and nothing else.
 */
export const command: Subcommand = {
  name: "discard",
  usage: "discard [JOB]",
  flags: { aside: "boolean" },
  words: 1,
  run: discard,
};

async function discard(program: CliProgram, flags: Flags): Promise<number> {
  const { json } = flags;
  const opened = await openFromFlags(program, flags);
  const { messages, workspace } = opened;
  const named = flags.words[0] === undefined ? undefined : resolveJobName(workspace, flags.words[0]);
  if (flags.values.aside === true) return discardAside(program, opened, { json, jobId: named });
  const waiting = named ?? waitingPreview(workspace.archive.list());
  if (typeof waiting === "object" && "several" in waiting) {
    const text = messages.previewsWait(waiting.several);
    return refuseInput(program, json, "several-previews", text);
  }
  const name = typeof waiting === "object" ? waiting.jobId : (waiting ?? "");
  const outcome =
    waiting === undefined ? ({ status: "nothing" } as const) : await workspace.discardPreview(name);
  const facts = discardFacts(workspace, name, outcome);
  const document = { success: true, status: facts.status, job_id: name };
  return reportAction(program, messages, facts, { json, document });
}

async function discardAside(
  program: CliProgram,
  opened: OpenedWorkspace,
  { json, jobId }: { readonly json: boolean; readonly jobId: string | undefined },
): Promise<number> {
  const { messages, workspace } = opened;
  if (jobId === undefined) return refuseUsage(program, json, messages.asideNeedsJob);
  const name = nameJobId(workspace.archive, jobId);
  const removed = await program.removeKeptAside(opened, jobId);
  if (removed === null) return refuseInput(program, json, "nothing-aside", messages.asideNone(name));
  if (removed === "unfinished")
    return refuseWork(program, json, "unfinished", messages.asideUnfinished(name));
  const { files, bytes } = removed;
  const document = { success: true, status: "removed", job_id: jobId, files, bytes };
  return succeed(program, json, document, messages.asideRemoved({ ...removed, jobId: name }));
}
