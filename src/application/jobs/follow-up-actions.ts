import {
  type JobAction,
  type JobActionLabels,
  jobActions,
  jobNamedInButton,
} from "../../domain/jobs/job-status.ts";
import type { JobResult } from "../../domain/jobs/result.ts";
import { decodeUtf8 } from "../../domain/platform/file-bytes.ts";
import type { FileDifference, JobArchive, StoredJob } from "../ports/jobs.ts";
import type { PreviewCommit, Workspace } from "../ports/jobs-workspace.ts";
import { isJobId } from "./execution.ts";
import { resolveJobName } from "./job-names.ts";
import type { ResultJson } from "./job-report.ts";

type Archive = Pick<JobArchive, "read" | "list">;

/** The job of that id or number, or the jobs of that group, oldest first. */
export function jobsNamed(archive: Archive, name: string): StoredJob[] {
  const jobId = resolveJobName({ archive }, name);
  if (isJobId(jobId)) return readJobs(archive, [jobId]);
  return archive.list(undefined, (groupId) => groupId === name);
}

/** The actions that are possible now with a job or a group. */
export function actionsFor(archive: Archive, name: string, labels: JobActionLabels): JobAction[] {
  return jobActions(jobsNamed(archive, name), labels);
}

/**
 * The buttons of a stored reply, updated: those about jobs follow the current state of the jobs, the others stay.
 */
export function presentActions(
  archive: Archive,
  reply: { readonly actions: readonly JobAction[]; readonly jobs: readonly Pick<ResultJson, "job_id">[] },
  labels: JobActionLabels,
): JobAction[] {
  const drawn = new Set<string>();
  return reply.actions.flatMap((action) => {
    const name = jobNamedInButton(action.message);
    if (name === null) return [action];
    if (drawn.has(name)) return [];
    drawn.add(name);
    if (name !== "") return actionsFor(archive, name, labels);
    const own = reply.jobs.map(({ job_id }) => job_id);
    return storedJobActions(archive, own, labels);
  });
}

/** The actions that are possible now with these jobs of one message. */
export function storedJobActions(
  archive: Pick<Archive, "read">,
  jobIds: readonly string[],
  labels: JobActionLabels,
): JobAction[] {
  return jobActions(readJobs(archive, jobIds), labels);
}

function readJobs(archive: Pick<Archive, "read">, jobIds: readonly string[]): StoredJob[] {
  return jobIds.map((id) => archive.read(id)).filter((job) => job !== null);
}

export type ApplyRestResult =
  /** There was no conflict left, or the preview cannot be applied: the outcome of the whole preview. */
  | { readonly status: "whole"; readonly outcome: PreviewCommit }
  | {
      readonly status: "ran";
      readonly result: JobResult;
      /** Paths of the preview that were left out, in conflict or not a text. */
      readonly left: readonly string[];
    };

/**
 * Applies the changes of a preview except the paths in conflict, as one job of its own that can be undone. When it has
 * landed, the preview is discarded: the paths in conflict stay as they are in the workspace.
 */
export async function applyRest(
  workspace: Pick<Workspace, "archive" | "execute" | "commitPreview" | "discardPreview">,
  jobId: string,
  signal: AbortSignal,
): Promise<ApplyRestResult> {
  const outcome = await workspace.commitPreview(jobId);
  if (outcome.status !== "conflict") return { status: "whole", outcome };
  const { job, conflicts } = outcome;
  const isInTheWay = (path: string) =>
    conflicts.some(
      (one) => path === one.path || path.startsWith(`${one.path}/`) || one.path.startsWith(`${path}/`),
    );
  const files = workspace.archive.differences(jobId).filter(({ path }) => !isInTheWay(path));
  const commands = files.flatMap(toRestEdits);
  const written = new Set(commands.map(({ target }) => target));
  // A folder is made with the files in it.
  const isWritten = (path: string) =>
    written.has(path) || [...written].some((one) => one.startsWith(`${path}/`));
  const left = job.changes.map(({ path }) => path).filter((path) => !isWritten(path));
  if (commands.length === 0) return { status: "whole", outcome };
  const result = await workspace.execute({
    plan: job.title,
    source: job.source,
    groupId: job.groupId,
    ...(job.request !== undefined && { request: job.request }),
    patch: JSON.stringify(commands),
    atomic: true,
    signal,
  });
  if (result.about === "job" && result.outcome === "committed") await workspace.discardPreview(jobId);
  return { status: "ran", result, left };
}

interface RestEdit {
  readonly type: "file_edit";
  readonly action: "create" | "update" | "delete";
  readonly target: string;
  readonly content?: string;
}

function toRestEdits({ path, before, after }: FileDifference): RestEdit[] {
  if (before === undefined || after === undefined || path.startsWith(".git/")) return [];
  if (after === null) return [{ type: "file_edit", action: "delete", target: path }];
  const content = decodeUtf8(after);
  if (content === null) return [];
  return [{ type: "file_edit", action: before === null ? "create" : "update", target: path, content }];
}

/** One job on its way out of the workspace, or in again. */
export interface TakeBackStep {
  readonly direction: "undo" | "redo";
  readonly job: StoredJob;
}
