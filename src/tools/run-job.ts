import { type ActionCode, takeBackFacts, wordReason } from "../application/jobs/action-report.ts";
import type { JobRequest, Workspace } from "../application/ports/jobs-workspace.ts";
import { findHookRefusal, nameByNumber, type RanJob } from "../domain/jobs/result.ts";
import { jobOrder } from "../domain/texts/format-text.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import { describeConflict, wordNote } from "../domain/texts/jobs-notes.ts";
import { wordAllNotes } from "../domain/texts/jobs-report.ts";
import type { ToolContext } from "./tool-context.ts";
import { type JobFacts, ToolError, type ToolErrorCode } from "./tool-result.ts";

export interface ToolJob {
  readonly tool: string;
  readonly title: string;
  readonly commands: readonly JobCommand[] | string;
  readonly signal: AbortSignal;
  readonly more?: Pick<JobRequest, "onOutput" | "onEvent" | "commandTimeoutSeconds">;
}

export interface JobCommand {
  readonly type: "file_edit" | "shell_command";
  readonly action: string;
  readonly target: string;
  readonly content?: string;
  readonly workdir?: string;
}

/** Jobs that a tool made are found again by their source, after a restart too. */
export function toolJobSource(tool: string): string {
  return `tool:${tool}`;
}

/** Carries out commands as one job of a workspace. A job that could not begin, or could not land, is an error. */
export async function runJob(
  { groupId, sessionKey, startedBy }: Pick<ToolContext, "groupId" | "sessionKey" | "startedBy">,
  workspace: Workspace,
  { tool, title, commands, signal, more }: ToolJob,
): Promise<RanJob> {
  const result = await workspace.execute({
    patch: typeof commands === "string" ? commands : JSON.stringify(commands),
    plan: title,
    source: toolJobSource(tool),
    startedBy,
    signal,
    ...(groupId !== undefined && { groupId }),
    ...(sessionKey !== undefined && { sessionKey }),
    ...more,
  });
  if (result.about === "job") return requireCommitted(result);
  const { why } = result;
  if (why.kind === "refused") throw new ToolError("REFUSED", why.refusal.message);
  throw why.code === "too-large"
    ? new ToolError("ARGUMENT_TOO_LARGE", why.message, { reason: "arguments" })
    : new ToolError("INTERNAL", why.message);
}

function requireCommitted(result: RanJob): RanJob {
  switch (result.outcome) {
    case "committed":
      return result;
    case "conflict":
      throw new ToolError(
        "CONFLICT",
        `nothing was written: ${nameByNumber(result)
          .conflicts.map((one) => describeConflict(messagesFor("en"), one, "terminal"))
          .join(", ")}`,
      );
    case "aborted":
      throw new ToolError("ABORTED", "the call was aborted; nothing was written");
    case "dry-run":
      throw new ToolError("REFUSED", "worker.dry_run is on: nothing was written");
    case "running":
    case "staged":
    case "answered":
    case "rolled-back": {
      const { jobId } = nameByNumber(result);
      const refusal = findHookRefusal(result.notes);
      if (refusal !== undefined)
        throw new ToolError(
          "REFUSED",
          `${wordNote(messagesFor("en"), refusal)}\nIt waits as the preview ${jobId}. To apply exactly this: ${jobOrder("terminal", "apply", jobId)}`,
        );
      const failed = result.commands.find(({ success }) => !success);
      throw new ToolError("REFUSED", `nothing was written: ${failed?.error ?? result.outcome}`);
    }
  }
}

/** Notes for the caller beside the result. Tools speak to models, in English. */
export function jobNotes(result: RanJob): readonly string[] {
  return wordAllNotes(messagesFor("en"), result);
}

/** For edits: the one command must have succeeded. */
export function toEditOutcome(result: RanJob): { job?: JobFacts; notes: readonly string[] } {
  const { jobId, commands, changes } = result;
  const failed = commands.find(({ success }) => !success);
  if (failed !== undefined) {
    const outside = failed.reason?.code === "outside-workspace";
    throw outside
      ? new ToolError("OUTSIDE_WORKSPACE", failed.error, { status: "denied", reason: "path" })
      : new ToolError("WRITE_FAILED", failed.error);
  }
  const notes = jobNotes(result);
  return changes.length === 0 ? { notes } : { job: { job_id: jobId, changes }, notes };
}

const CODES: Partial<Record<ActionCode, ToolErrorCode>> = {
  nothing: "NOTHING_TO_UNDO",
  "unknown-job": "NOT_FOUND",
  conflict: "CONFLICT",
};

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
