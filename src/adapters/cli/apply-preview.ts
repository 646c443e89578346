import type { Opened } from "../../application/ports/opening.ts";
import { changeLines } from "../../application/work/report/change-lines.ts";
import { describeConflicts } from "../../application/work/report/describe-conflict.ts";
import { storedResult } from "../../application/work/report/stored-result.ts";
import { fail } from "./fail.ts";
import { printable } from "./printable.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `apply --job JOB`: commits exactly what the preview showed. */
export async function applyPreview(
  program: CliProgram,
  opened: Opened,
  jobId: string,
  { dryRun, json }: { readonly dryRun: boolean; readonly json: boolean },
): Promise<number> {
  const {
    messages,
    workspace: { archive },
  } = opened;
  if (dryRun) return showPreview(program, opened, jobId, json);
  const outcome = await opened.workspace.commitPreview(jobId);
  switch (outcome.status) {
    case "done": {
      const { job } = outcome;
      if (json) program.out(`${JSON.stringify(storedResult(messages, job, archive.events(jobId)))}\n`);
      else
        program.out(
          `${[messages.previewApplied(jobId), printable(changeLines(messages, job.changes)), messages.undoHint(jobId)].filter(Boolean).join("\n\n")}\n`,
        );
      return EXIT.done;
    }
    case "conflict": {
      const text = describeConflicts(messages, jobId, outcome.conflicts);
      const facts = { job_id: jobId, conflicts: outcome.conflicts };
      return fail(program, json, { exitCode: EXIT.failed, code: "conflict", text, facts });
    }
    case "busy":
      return fail(program, json, {
        exitCode: EXIT.refused,
        code: "busy",
        text: messages.workspaceBusy(opened.workspace.root),
      });
    case "not-a-preview":
      return fail(program, json, {
        exitCode: EXIT.usage,
        code: "not-a-preview",
        text: messages.notAPreview(jobId),
        facts: { state: outcome.job.state },
      });
    case "unknown":
      return fail(program, json, {
        exitCode: EXIT.usage,
        code: "unknown-job",
        text: messages.unknownJob(jobId),
      });
  }
}

/** A dry run of `--job`: what it would bring in. */
function showPreview(program: CliProgram, opened: Opened, jobId: string, json: boolean): number {
  const {
    messages,
    workspace: { archive },
  } = opened;
  const job = archive.read(jobId);
  if (job === null || job.state !== "staged") {
    const [code, text] =
      job === null
        ? ["unknown-job", messages.unknownJob(jobId)]
        : ["not-a-preview", messages.notAPreview(jobId)];
    return fail(program, json, { exitCode: EXIT.usage, code, text });
  }
  if (json)
    program.out(
      `${JSON.stringify({ ...storedResult(messages, job, archive.events(jobId)), dry_run: true, undo: "none" })}\n`,
    );
  else
    program.out(
      `${printable(changeLines(messages, job.changes))}\n\n${messages.preview({ jobId, changes: job.changes.length })}\n`,
    );
  return EXIT.done;
}
