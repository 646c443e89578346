import type { Workspace } from "../application/ports/jobs-workspace.ts";
import { type ActionCode, takeBackFacts } from "../application/jobs/action-report.ts";
import { wordReason } from "../application/jobs/word-action.ts";
import { messagesFor } from "../domain/texts/messages.ts";
import type { JobFacts, ToolErrorCode } from "./tool-result.ts";
import { ToolError } from "./tool-error.ts";

const CODES: Partial<Record<ActionCode, ToolErrorCode>> = {
  nothing: "NOTHING_TO_UNDO",
  "unknown-job": "NOT_FOUND",
  conflict: "CONFLICT",
};

/** Undoes one job, a group, or the last job; returns what it restored. */
export async function undoWorkspaceJob(workspace: Workspace, name?: string): Promise<JobFacts> {
  const taken = await workspace.takeBack({
    direction: "undo",
    force: false,
    ...(name !== undefined && { name }),
  });
  const facts = takeBackFacts(workspace, "undo", taken);
  if (facts.code !== "done")
    throw new ToolError(CODES[facts.code] ?? "REFUSED", wordReason(messagesFor("en"), facts, "terminal"));
  return {
    job_id: facts.done.map(({ jobId }) => jobId).join(","),
    changes: facts.done.flatMap(({ changes }) => changes),
  };
}
