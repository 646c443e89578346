import { isLockFile } from "../../domain/jobs/file-bytes.ts";
import { type MergeResult, mergeFile } from "../../domain/jobs/merge.ts";
import type { Change } from "../../domain/jobs/result.ts";
import type { FileDifference, StoredJob } from "../ports/jobs.ts";
import type { Conflict, Transaction } from "../ports/jobs-transaction.ts";
import type { MergedNote } from "./draft.ts";
import { beginJob } from "./execute-patch.ts";
import { type Execution, newJobId, type WorkspaceDeps } from "./execution.ts";
import { JobRun } from "./job-run.ts";

export type MergedUndo =
  /** `jobId`: the job that took the other back, and that can be undone itself. */
  | { readonly status: "done"; readonly jobId: string; readonly changes: readonly Change[] }
  /** Lines of the job were changed since, or something of it is not known any more. Nothing changed. */
  | { readonly status: "conflict"; readonly conflicts: readonly Conflict[] };

/**
 * Takes a job back whose files were changed since: what the job did is merged out of them, as a job of its own. All of it or
 * nothing. Null where the job changed something that is no text of a file, so that only an exact undo can take it back.
 */
export async function undoByMerge(parts: WorkspaceDeps, job: StoredJob): Promise<MergedUndo | null> {
  const differences = parts.archive.differences(job.jobId);
  const known = new Set(differences.map(({ path }) => path));
  const isKnown = ({ path }: Change) => known.has(path) || /(^|\/)\.git\//.test(path);
  if (differences.length === 0 || !job.changes.every(isKnown)) return null;
  const jobId = newJobId(parts.now(), parts.random);
  const begun = await beginJob(parts, { jobId, kind: "direct" });
  if (!begun.ok) return null;
  const { transaction } = begun;
  const run = new JobRun(
    parts,
    {
      patch: "",
      request: parts.messages.undoByMergeTitle(job.jobId, job.title),
      source: "undo",
      reverses: job.jobId,
      dryRun: false,
      preview: false,
      atomic: true,
      stopOnError: true,
      autoCommit: false,
      signal: new AbortController().signal,
    },
    jobId,
    transaction,
  );
  return run.orBroken(async () => {
    const merged: MergedNote[] = [];
    const conflicts: Conflict[] = [];
    for (const difference of differences) {
      const { path } = difference;
      const result = takeOut(transaction, difference);
      if (result === "conflict") conflicts.push({ path, reason: "changed" });
      else if (result === "merged") merged.push({ path, by: laterJob(parts, job, path) });
    }
    if (conflicts.length > 0) {
      // It never began: nobody is to find it among the jobs.
      await transaction.discard();
      await parts.transactions.discard(jobId);
      return { status: "conflict", conflicts };
    }
    run.start();
    run.noteMerged(merged);
    const ended = (await run.end([], [], { preview: false })) as Execution;
    if (ended.status !== "ran" || ended.outcome !== "committed") {
      await parts.transactions.discard(jobId);
      const met = ended.status === "ran" ? ended.conflicts : [];
      return { status: "conflict", conflicts: met };
    }
    markReversed(parts, job, jobId);
    return { status: "done", jobId, changes: ended.result.changes };
  });
}

/** Merges what the job did to one file out of it, in the view. */
function takeOut(
  { view }: Transaction,
  { path, before, after }: FileDifference,
): "merged" | "exact" | "conflict" {
  const { kind } = view.look(path);
  if (before === undefined || after === undefined || (kind !== "file" && kind !== "missing"))
    return "conflict";
  const now = kind === "file" ? view.read(path) : null;
  const result: MergeResult = mergeFile({ base: after, ours: before, theirs: now });
  switch (result.kind) {
    case "same":
    case "theirs":
      return "exact";
    case "ours":
      if (before !== null) view.write(path, before);
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
  const later = archive
    .list()
    .findLast(
      (other) =>
        other.jobId !== job.jobId &&
        other.state === "committed" &&
        other.stateAt >= job.stateAt &&
        other.changes.some((change) => change.path === path),
    );
  return later?.jobId ?? null;
}

/** The job counts as taken back as long as the one that did it stands. */
function markReversed({ archive }: WorkspaceDeps, job: StoredJob, by: string): void {
  const { state, stateAt, bytes, unsettled, interruptions, standsRepaired, ...record } = job;
  archive.save({ ...record, reversedBy: by });
}
