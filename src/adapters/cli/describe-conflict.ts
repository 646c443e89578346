import type { Conflict } from "../../application/ports/transaction.ts";
import type { Messages } from "../../domain/messages/messages.ts";

/** A path in somebody's way, with the job or the process that stands there. */
export function describeConflict(messages: Messages, { path, by, reason }: Conflict): string {
  if (by === undefined) return path;
  return by.startsWith("job_") && reason !== "open" ? messages.changedByJob(path, by) : `${path} (${by})`;
}
