import type { NoteFact } from "../../domain/jobs/note.ts";
import type { StoredJob } from "../ports/jobs.ts";
import type { Conflict, RepairedJob } from "../ports/jobs-transaction.ts";

/** What is said to whoever came next after a swap that was cut off. One that is stuck is told as a conflict. */
export function repairNotes(repaired: RepairedJob | null | undefined): NoteFact[] {
  if (!repaired || repaired.outcome === "stuck") return [];
  const { jobId, direction, outcome, left } = repaired;
  return [{ code: "repaired", jobId, direction, outcome, paths: left }];
}

/** What its own report says of the swaps that were cut off and repaired. */
export function notesOfInterruptions({ jobId, interruptions = [] }: StoredJob): NoteFact[] {
  return interruptions.flatMap(({ direction, outcome, left }) =>
    outcome === "open" ? [] : [{ code: "repaired", jobId, direction, outcome, paths: left } as const],
  );
}

/** An earlier job stands in the way of every other until it is repaired. */
export function conflictsOfStuck({ conflicts, jobId }: RepairedJob): Conflict[] {
  return conflicts.map(({ path }) => ({ path, reason: "interrupted", by: jobId }));
}
