import { type Change, nameJob, newJobId, type RanJob } from "../../domain/jobs/result.ts";
import { isLockFile } from "../../domain/platform/file-bytes.ts";
import { type MergeResult, mergeFile } from "../../domain/platform/merge.ts";
import type { WordsByLocale } from "../../domain/texts/worded.ts";
import type { FileDifference, StoredJob } from "../ports/jobs.ts";
import type { Draft, MergedNote } from "../ports/jobs-draft.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";
import type { ExecuteRequest, WorkspaceDeps } from "../ports/jobs-workspace.ts";
import { ViewFault } from "../ports/platform-view.ts";
import { movedLater, toJobRecord } from "./job-facts.ts";
import { type JobRun, openJob } from "./job-run.ts";

export type JudgeMerge = (
  draft: Pick<Draft, "check" | "changes" | "diff" | "files" | "homes">,
  signal: AbortSignal,
) => Promise<WordsByLocale>;

type MergeDeps = WorkspaceDeps & { readonly judge?: JudgeMerge | undefined };

export type MergeDirection = "out" | "in";

export interface MergedUndo {
  /** The job that undid or redid the other one, and that can be undone itself. */
  readonly jobId: string;
  readonly changes: readonly Change[];
  /** The verdict of the project's checks on the merge; absent without checks. */
  readonly checked?: WordsByLocale;
}

/** Merges a job's changes out of files that were edited since, or into them, as a new job. Null: not only text, or its lines changed. */
export async function mergeJob(
  deps: MergeDeps,
  job: StoredJob,
  direction: MergeDirection,
): Promise<MergedUndo | null> {
  const differences = deps.archive.differences(job.jobId);
  const known = new Set(differences.map(({ path }) => path));
  const isKnown = ({ path }: Change) => known.has(path) || /(^|\/)\.git\//.test(path);
  if (differences.length === 0 || !job.changes.every(isKnown)) return null;
  const jobId = newJobId(deps.now(), deps.random);
  const action = direction === "out" ? "undo" : "redo";
  const { signal } = new AbortController();
  const run = await openMerge(deps, jobId, {
    patch: "",
    request: deps.messages.mergeTitle(action, nameJob(job), job.title),
    source: action,
    startedBy: "user",
    reverses: job.jobId,
    dryRun: false,
    preview: false,
    atomic: true,
    stopOnError: true,
    autoCommit: false,
    signal,
  });
  if (run === null) return null;
  const { transaction } = run;
  return run.orBroken(async () => {
    const merged: MergedNote[] = [];
    let isInConflict = false;
    for (const difference of differences) {
      const { path, before, after } = difference;
      const sides = direction === "out" ? { base: after, ours: before } : { base: before, ours: after };
      const result = tryMerge(transaction, path, sides);
      if (result === "conflict") isInConflict = true;
      else if (result === "merged") merged.push({ path, by: laterJob(deps, job, path) });
    }
    if (isInConflict) {
      await transaction.discard();
      await deps.transactions.discard(jobId, { began: false });
      return null;
    }
    run.start();
    run.noteMerged(merged);
    const checked = await judgeMerge(deps, run, signal);
    const ended = (await run.end([], [], { preview: false })) as RanJob;
    if (ended.outcome !== "committed") {
      await deps.transactions.discard(jobId);
      return null;
    }
    // The job counts as undone or redone as long as the merging job is in effect.
    const by = direction === "out" ? { reversedBy: jobId } : { broughtInBy: jobId };
    deps.archive.save({ ...toJobRecord(job), ...by });
    return { jobId, changes: ended.changes, ...(checked !== null && { checked }) };
  });
}

/** With a judge, staged so that checks can run over it; otherwise as edits only. */
async function openMerge(deps: MergeDeps, jobId: string, request: ExecuteRequest): Promise<JobRun | null> {
  const isJudged = deps.judge !== undefined && deps.staging.kind !== "none";
  const how = isJudged ? { kind: deps.staging.kind, resting: true } : { kind: "direct" as const };
  const opened = await openJob(deps, { jobId, startedBy: request.startedBy, ...how }, request);
  if (!opened.ok) return null;
  const { transaction } = opened.job;
  const refusal = isJudged ? ((await transaction.layers?.wake()) ?? null) : null;
  if (refusal === null) return opened.job;
  await transaction.discard();
  return null;
}

/** Checks never block an undo that the user requested; their result is only reported. */
async function judgeMerge(deps: MergeDeps, run: JobRun, signal: AbortSignal): Promise<WordsByLocale | null> {
  const { transaction } = run;
  const { layers } = transaction;
  if (deps.judge === undefined || transaction.kind === "direct" || layers === undefined) return null;
  transaction.takeChanges({ processRan: false });
  await layers.rest();
  const changes = () => layers.changes();
  return deps.judge(
    {
      check: (request) => run.check({ ...request, signal }),
      changes,
      diff: () =>
        changes().map(({ path }) => ({
          path,
          before: transaction.original(path),
          after: transaction.current(path),
        })),
      files: layers.files,
      homes: () => layers.homes?.() ?? null,
    },
    signal,
  );
}

interface MergeSides {
  readonly base: FileDifference["before"];
  readonly ours: FileDifference["before"];
}

/** A file that cannot be read, or not be written, is one whose lines cannot be merged: an exact undo may still do. */
function tryMerge(transaction: Transaction, path: string, sides: MergeSides): ReturnType<typeof mergeInView> {
  try {
    return mergeInView(transaction, path, sides);
  } catch (error) {
    if (error instanceof ViewFault) return "conflict";
    throw error;
  }
}

function mergeInView(
  { view }: Transaction,
  path: string,
  { base, ours }: MergeSides,
): "merged" | "exact" | "conflict" {
  const { kind } = view.look(path);
  if (base === undefined || ours === undefined || (kind !== "file" && kind !== "missing")) return "conflict";
  const theirs = kind === "file" ? view.read(path) : null;
  const result: MergeResult = mergeFile({ base, ours, theirs });
  switch (result.kind) {
    case "same":
    case "theirs":
      return "exact";
    case "ours":
      if (ours !== null) view.write(path, ours);
      else view.remove(path);
      return "exact";
    case "clean":
      if (isLockFile(path)) return "conflict";
      view.write(path, result.bytes);
      return "merged";
    case "conflict":
      return "conflict";
  }
}

function laterJob({ archive }: WorkspaceDeps, job: StoredJob, path: string): string | null {
  const jobs = archive.list();
  const own = jobs.find(({ jobId }) => jobId === job.jobId) ?? job;
  const later = jobs.findLast(
    (other) =>
      other.jobId !== job.jobId &&
      other.state === "committed" &&
      !movedLater(own, other) &&
      other.changes.some((change) => change.path === path),
  );
  return later?.jobId ?? null;
}
