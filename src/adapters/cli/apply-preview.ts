import { previewFacts } from "../../application/jobs/action-report.ts";
import { resolveJobName, storedFacts } from "../../application/jobs/job-facts.ts";
import type { OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import { toResultJson, wordJob } from "../../domain/texts/jobs-report.ts";
import { printable, styleReport } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { reportAction } from "./report-action.ts";

/** `apply --job JOB`: commits exactly what the preview showed. */
export async function applyPreview(
  program: CliProgram,
  opened: OpenedWorkspace,
  name: string,
  { dryRun, json }: { readonly dryRun: boolean; readonly json: boolean },
): Promise<number> {
  const jobId = resolveJobName(opened.workspace, name);
  if (dryRun) return showPreview(program, opened, jobId, json);
  const { messages, workspace } = opened;
  const { archive } = workspace;
  const outcome = await workspace.commitPreview(jobId);
  const document =
    outcome.status === "done"
      ? { ...toResultJson(messages, storedFacts(outcome.job, archive.events(jobId), false)) }
      : {};
  return reportAction(program, messages, previewFacts(workspace, jobId, outcome), { json, document });
}

/** A dry run of `--job`: what it would bring in. */
async function showPreview(
  program: CliProgram,
  opened: OpenedWorkspace,
  jobId: string,
  json: boolean,
): Promise<number> {
  const { messages, workspace } = opened;
  const { archive } = workspace;
  const job = archive.read(jobId);
  if (job === null || job.state !== "staged") {
    const outcome =
      job === null ? ({ status: "unknown" } as const) : { status: "not-a-preview" as const, job };
    return reportAction(program, messages, previewFacts(workspace, jobId, outcome), { json, document: {} });
  }
  const facts = storedFacts(job, archive.events(jobId), false);
  const text = json
    ? JSON.stringify({ ...toResultJson(messages, facts), dry_run: true })
    : await styleReport(program, printable(wordJob(messages, facts)), facts.status);
  program.out(`${text}\n`);
  return EXIT.done;
}
