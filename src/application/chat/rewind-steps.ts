import type { JobArchive, StoredJob } from "../ports/jobs.ts";
import type { JournalLine } from "../ports/journal.ts";
import type { TakeBackStep } from "../jobs/take-back-all.ts";

/** How the files get back to a moment. */
export interface RewindSteps {
  /** In the order in which they are to be swapped: what came last goes first. */
  readonly steps: readonly TakeBackStep[];
  /** Jobs that would have to be swapped too, and cannot be any more. */
  readonly gone: readonly string[];
}

/** The jobs that were in the workspace at that moment and are not now, and the other way round. */
export function planRewindSteps(
  archive: Pick<JobArchive, "events">,
  jobs: readonly StoredJob[],
  since: string,
): RewindSteps {
  const moved = jobs.filter(({ stateAt, changes }) => stateAt > since && changes.length > 0);
  const steps: TakeBackStep[] = [];
  const gone: string[] = [];
  for (const job of moved.sort((x, y) => (x.stateAt < y.stateAt ? 1 : -1))) {
    const lines = archive.events(job.jobId);
    const then = job.createdAt <= since && isCommittedAfter(lines.filter(({ at }) => at <= since)) === true;
    const now = job.state === "evicted" ? (isCommittedAfter(lines) ?? true) : job.state === "committed";
    const swappable = job.state === "committed" || job.state === "undone";
    if (then === now || (!swappable && job.state !== "evicted")) continue;
    if (!swappable || job.kind === "none") gone.push(job.jobId);
    else steps.push({ direction: now ? "undo" : "redo", job });
  }
  return { steps, gone };
}

/** Whether the job's changes were in the workspace after these events; null when they do not tell. */
function isCommittedAfter(lines: readonly JournalLine[]): boolean | null {
  const last = lines.findLast(({ event }) => STATE_EVENTS.has(event.type))?.event.type;
  return last === undefined ? null : last === "committed" || last === "redone";
}

const STATE_EVENTS = new Set<JournalLine["event"]["type"]>([
  "staged",
  "committed",
  "undone",
  "redone",
  "rolled_back",
]);
