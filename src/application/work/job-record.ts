import type { Change, CommandResult } from "../../domain/patch/result.ts";
import type { Note } from "../../domain/work/note.ts";
import type { JobOutcome, JobRecord } from "../ports/jobs.ts";
import type { ExecuteRequest } from "./execution.ts";
import type { WorkspaceParts } from "./workspace-parts.ts";

interface BegunJob {
  readonly jobId: string;
  readonly request: ExecuteRequest;
  readonly commands: number;
  readonly kind: string;
  readonly at: Date;
}

interface JobEnding {
  readonly outcome: JobOutcome;
  readonly results: readonly CommandResult[];
  readonly changes: readonly Change[];
  readonly gitCommit: string | null;
  readonly notes: readonly Note[];
}

/** What is remembered of a job: first while it runs, with its process, then as it ended. */
export function jobRecord(
  { root, mask, now, pid }: Pick<WorkspaceParts, "root" | "mask" | "now" | "pid">,
  { jobId, request, commands, kind, at }: BegunJob,
  { outcome, results, changes, gitCommit, notes }: JobEnding,
): JobRecord {
  const executedCmds = results.filter(({ success }) => success).length;
  return {
    jobId,
    groupId: groupOf(request, jobId),
    workspace: root,
    source: request.source,
    title: mask(titleOf(request)),
    createdAt: at.toISOString(),
    finishedAt: now().toISOString(),
    kind,
    outcome,
    pid,
    success: executedCmds === commands && (outcome === "committed" || outcome === "staged"),
    totalCmds: commands,
    executedCmds,
    failedCmds: results.length - executedCmds,
    ...(gitCommit !== null && { gitCommit }),
    changes,
    notes,
  };
}

/** A job that nobody grouped is a group of its own. */
export function groupOf({ groupId }: Pick<ExecuteRequest, "groupId">, jobId: string): string {
  return groupId ?? jobId.replace("job_", "group_");
}

const TITLE_CHARACTERS = 50;

/** First line of the plan, else of the patch, cut by characters: bytes would split a Japanese one. */
export function titleOf({ plan, patch }: Pick<ExecuteRequest, "plan" | "patch">): string {
  const text = plan !== undefined && plan.trim() !== "" ? plan : patch;
  const line = text.trimStart().slice(0, 1000).split("\n", 1)[0]?.trim() ?? "";
  return [...line].slice(0, TITLE_CHARACTERS).join("");
}
