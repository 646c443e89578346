import { type Conflict, countFiles } from "../../domain/jobs/result.ts";
import type { StoredJob } from "../ports/jobs.ts";
import type {
  TakeBack,
  TakeBackOutcome,
  TakeBackRequest,
  TakenBack,
  WorkspaceDeps,
} from "../ports/jobs-workspace.ts";
import { chooseJobs, movedLater, stuckTakeBack } from "./job-facts.ts";
import type { MergeDirection, MergedUndo } from "./undo-by-merge.ts";

export interface TakeBackDeps extends Pick<WorkspaceDeps, "transactions" | "archive"> {
  /** Undoes or redoes a job by a merge, if its files were changed since; absent where only an exact undo is allowed. */
  readonly mergeJob?: (job: StoredJob, direction: MergeDirection) => Promise<MergedUndo | null>;
}

/** Undoes or redoes jobs: the named one, the jobs of a group (newest first), or the last. */
export async function takeBack(deps: TakeBackDeps, request: TakeBackRequest): Promise<TakeBack> {
  // Which job is the last one is known only then.
  const repaired = await deps.transactions.repair();
  const outcome = stuckTakeBack(deps.archive, repaired) ?? (await swapChosen(deps, request));
  return repaired === null ? outcome : { ...outcome, repaired };
}

type RefusedTakeBack = Extract<TakeBackOutcome, { status: "refused" }>;

async function swapChosen(deps: TakeBackDeps, request: TakeBackRequest): Promise<TakeBackOutcome> {
  const chosen = chooseJobs(deps, request);
  if (chosen === "nothing") return { status: "nothing" };
  if (chosen === "unknown") return { status: "unknown", name: request.name ?? "" };
  const done: TakenBack[] = [];
  for (const job of chosen) {
    const refused = (why: Pick<RefusedTakeBack, "reason" | "paths">, state = job.state): RefusedTakeBack => ({
      status: "refused",
      job,
      state,
      before: done,
      ...why,
    });
    if (job.closed !== undefined) return refused({ reason: "closed", paths: [job.closed] });
    if (job.damaged !== undefined) return refused({ reason: "damaged", paths: [job.damaged] });
    if (job.state === "running") return refused({ reason: "running" });
    if (job.kind === "none") return refused({ reason: "not-undoable" });
    // The merge that undid or redid the job is now in effect: that merge is undone.
    const merge = job.reversedBy ?? job.broughtInBy;
    const isUndo = request.direction === "undo";
    const type = isUndo ? "undone" : "redone";
    if (merge !== undefined && (job.state === "undone") === isUndo) return refused({ reason: "wrong-state" });
    const outcome =
      merge === undefined
        ? await deps.transactions[request.direction](job.jobId, { force: request.force })
        : await deps.transactions.undo(merge, { force: request.force });
    if (outcome.status === "refused") {
      const { reason, state, paths } = outcome;
      const isSwappable = state === "committed" || state === "undone";
      if (reason === "wrong-state" && job.changes.length === 0 && isSwappable) {
        done.push({ job, changes: [], left: [] });
        continue;
      }
      const why = reason === "unknown-job" ? "evicted" : reason;
      return refused({ reason: why, ...(paths !== undefined && { paths }) }, state);
    }
    if (outcome.status === "conflict") {
      const merging = merge === undefined ? job : deps.archive.read(merge);
      const mayMerge = merging !== null && outcome.conflicts.every(({ reason }) => MERGEABLE.has(reason));
      const way = merge !== undefined || isUndo ? "out" : "in";
      const merged = mayMerge ? ((await deps.mergeJob?.(merging, way)) ?? null) : null;
      if (merged === null)
        return {
          status: "conflict",
          job,
          conflicts: nameLaterJobs(deps, job, outcome.conflicts),
          before: done,
        };
      const { jobId: mergedBy, changes: mergedChanges, ...verdict } = merged;
      deps.archive.append(job.jobId, { type, changes: countFiles(mergedChanges) });
      done.push({ job, changes: job.changes, left: [], mergedBy, ...verdict });
      continue;
    }
    deps.archive.append(job.jobId, { type, changes: countFiles(outcome.changes) });
    const known = new Map(job.changes.map((change) => [change.path, change.ignored]));
    const changes = outcome.changes.map((change) => {
      const ignored = known.get(change.path);
      return ignored === undefined ? change : { ...change, ignored };
    });
    const { left, rebuilt } = outcome;
    done.push({ job, changes, left, ...(rebuilt !== undefined && { rebuilt }) });
  }
  return { status: "done", jobs: done };
}

/** A file of the job was changed or removed by others; no other conflict can be solved by merging lines. */
const MERGEABLE = new Set<Conflict["reason"]>(["changed", "missing", "exists"]);

/** Numbers of the jobs that have to be undone with one, newest first and itself the last: those that changed its files since. */
export function numbersToUndo({ archive }: Pick<TakeBackDeps, "archive">, jobId: string): readonly number[] {
  const jobs = archive.list();
  const at = jobs.findIndex((job) => job.jobId === jobId);
  const paths = new Set(jobs[at]?.changes.map(({ path }) => path));
  const numbers = [jobs[at]?.number];
  for (const [later, { number, state, changes, reverses }] of jobs.entries()) {
    if (later <= at || state !== "committed" || reverses !== undefined) continue;
    if (!changes.some(({ path }) => paths.has(path))) continue;
    for (const { path } of changes) paths.add(path);
    numbers.unshift(number);
  }
  return numbers.every((one) => one !== undefined) ? numbers : [];
}

/** Names the later job that changed a path, if one did: it must be undone first. */
function nameLaterJobs(
  { archive }: TakeBackDeps,
  job: StoredJob,
  conflicts: readonly Conflict[],
): Conflict[] {
  const jobs = archive.list();
  const at = jobs.findIndex(({ jobId }) => jobId === job.jobId);
  const later = jobs.filter(
    (other, place) =>
      other.jobId !== job.jobId &&
      (place > at || movedLater(other, jobs[at] ?? job)) &&
      other.state === "committed" &&
      // Undoing an undo would redo the other job, so it is not suggested.
      other.reverses === undefined,
  );
  return conflicts.map((conflict) => {
    const by =
      conflict.by ??
      later.findLast(({ changes }) => changes.some(({ path }) => path === conflict.path))?.jobId;
    return by === undefined ? conflict : { ...conflict, by };
  });
}
