import type { Messages } from "../../domain/texts/messages.ts";
import { shownPath } from "../../domain/texts/shown-path.ts";
import type { Conflict } from "../ports/jobs-transaction.ts";
import type { Surface } from "./surface.ts";

/** A path in somebody's way, with the job or the process that stands there. */
export function describeConflict(messages: Messages, conflict: Conflict, at: Surface): string {
  const { by, reason } = conflict;
  const path = shownPath(conflict.path);
  if (reason === "no-access") return messages.fileTrouble("permission-denied", path);
  if (by === undefined) return path;
  if (reason === "interrupted") return messages.repairStuck(by, [path]);
  return by.startsWith("job_") && reason !== "open" ? messages.changedByJob(path, by, at) : `${path} (${by})`;
}

/** The job that was cut off and cannot be finished, where that is what stands in the way. */
export function stuckJob(conflicts: readonly Conflict[]): string | null {
  return conflicts.find(({ reason }) => reason === "interrupted")?.by ?? null;
}

/** Why a commit brought nothing in. What may not be written is no preview to try again as it is. */
export function describeConflicts(
  messages: Messages,
  jobId: string,
  conflicts: readonly Conflict[],
  at: Surface,
): string {
  const stuck = stuckJob(conflicts);
  if (stuck !== null)
    return messages.repairStuck(
      stuck,
      conflicts.map(({ path }) => shownPath(path)),
    );
  const paths = conflicts.map((conflict) => describeConflict(messages, conflict, at));
  return conflicts.every(({ reason }) => reason === "no-access")
    ? [...paths, messages.nothingApplied(jobId)].join("\n")
    : messages.commitConflict({ jobId, paths, at });
}
