import { discardFacts } from "../../application/jobs/action-report.ts";
import { waitingPreview } from "../../application/jobs/unfinished-jobs.ts";
import { fail, type Subcommand } from "./command.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { reportAction } from "./report-action.ts";

/** `discard [JOB]`: throws a preview away; unnamed, the only one that waits, because it cannot be brought back. */
export const command: Subcommand = {
  name: "discard",
  usage: "discard [JOB]",
  flags: {},
  words: 1,
  run: discard,
};

async function discard(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, command, args);
  const json = flags.values.json === true;
  const { messages, workspace } = await openFromFlags(program, flags);
  const waiting = flags.words[0] ?? waitingPreview(workspace.archive.list());
  if (typeof waiting === "object" && "several" in waiting) {
    const text = messages.previewsWait(waiting.several);
    return fail(program, json, { exitCode: EXIT.usage, code: "several-previews", text });
  }
  const name = typeof waiting === "object" ? waiting.jobId : (waiting ?? "");
  const outcome =
    waiting === undefined ? ({ status: "nothing" } as const) : await workspace.discardPreview(name);
  const facts = discardFacts(workspace, name, outcome);
  const document = { success: true, status: facts.status, job_id: name };
  return reportAction(program, messages, facts, { json, document });
}
