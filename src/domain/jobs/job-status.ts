/**
 * What became of a job: the one vocabulary of every surface. `partly` is applied with commands that failed; `worse` is
 * not applied because the project's checks got worse, `unended` because one did not end. A job that `running` or `interrupted` is said of has no result.
 */
export const JOB_STATUSES = [
  "applied",
  "partly",
  "preview",
  "worse",
  "unended",
  "stopped",
  "no-change",
  "taken-back",
  "refused",
  "running",
  "interrupted",
] as const;

export type JobStatus = (typeof JOB_STATUSES)[number];

/** Whether a job can be taken back. `none`: there is nothing to take back. */
export type UndoState = "available" | "unavailable" | "none" | "undone";

/** `begun`: a swap of it began and did not end. `due`: it was to be committed, and nothing of that began. */
export type Unsettled = "begun" | "due";

/** What the status of a job is made from. */
export interface JobStatusFacts {
  /** The state of its transaction: `running`, `staged`, `committed`, `undone`, `discarded`, `evicted`. */
  readonly state: string;
  /** The kind of its transaction; `none` ran in place, so nobody knows all that changed. */
  readonly kind: string;
  readonly changeCount: number;
  readonly totalCmds: number;
  readonly executedCmds: number;
  readonly unsettled?: Unsettled;
  /** Why a draft was kept instead of landing. */
  readonly red?: RedReason;
}

/** `failing`: commands of its own. `worse`: the project's checks. `unended`: one of them, which ended before. */
export type RedReason = "failing" | "worse" | "unended";

/** The status of a draft that was kept. */
export function toKeptStatus(red: RedReason | undefined): "preview" | "worse" | "unended" {
  return red === undefined || red === "failing" ? "preview" : red;
}

/** `alive`: whether the process of a running job still works on it. */
export function toJobStatus(job: JobStatusFacts, alive: boolean): JobStatus {
  if (job.unsettled !== undefined) return alive && job.state === "staged" ? "running" : "interrupted";
  switch (job.state) {
    case "running":
      return alive ? "running" : "interrupted";
    case "undone":
      return "taken-back";
    case "staged":
      return toKeptStatus(job.red);
    case "discarded":
      return "stopped";
    default:
      return statusOfApplied(job);
  }
}

function statusOfApplied({ kind, changeCount, totalCmds, executedCmds }: JobStatusFacts): JobStatus {
  const changed = changeCount > 0 || (kind === "none" && executedCmds > 0);
  if (!changed) return "no-change";
  return executedCmds < totalCmds ? "partly" : "applied";
}

export function toUndoState({
  state,
  kind,
  changeCount,
  unsettled,
}: Pick<JobStatusFacts, "state" | "kind" | "changeCount" | "unsettled">): UndoState {
  // An undo finishes what was begun, and takes it back.
  if (unsettled === "begun") return changeCount > 0 ? "available" : "none";
  if (state === "undone") return "undone";
  if (state === "evicted" || kind === "none") return "unavailable";
  return state === "committed" && changeCount > 0 ? "available" : "none";
}
