import type { WordsByLocale } from "../texts/worded.ts";

/**
 * The status of a job: the one vocabulary of every surface. `partly` is applied with commands that failed; `worse` is
 * not applied because the project's checks got worse, `unended` because one did not end. `discarded` is a preview that the user discarded. A `running` or `interrupted` job has no result; of an `unreadable` one it is not known.
 */
export const JOB_STATUSES = [
  "applied",
  "partly",
  "preview",
  "worse",
  "unended",
  "stopped",
  "discarded",
  "no-change",
  "taken-back",
  "refused",
  "running",
  "interrupted",
  "unreadable",
] as const;

export type JobStatus = (typeof JOB_STATUSES)[number];

/** Whether a job can be undone. `none`: there is nothing to undo. */
export type UndoState = "available" | "unavailable" | "none" | "undone";

/**
 * `begun`: a swap of it began and did not end. `halted`: so it did, and a record without which it cannot be completed is damaged
 * or of a newer version. `due`: it was to be committed, and nothing of that began.
 */
export type Unsettled = "begun" | "halted" | "due";

export const PROCESS_DIED = "its process died";

export interface JobStatusFacts {
  /** The state of its transaction: `running`, `staged`, `committed`, `undone`, `discarded`, `evicted`. */
  readonly state: string;
  /** How it ended: `staged` for one that was kept as a preview. */
  readonly outcome?: string;
  readonly reason?: string;
  /** The kind of its transaction; `none` ran in place, so its changes are not fully known. */
  readonly kind: string;
  /** The number of changed files; 0 only where nothing changed. */
  readonly changeCount: number;
  readonly totalCmds: number;
  readonly executedCmds: number;
  readonly unsettled?: Unsettled;
  /** The file of its record that cannot be read. */
  readonly damaged?: string;
  /** Why a draft was kept instead of landing. */
  readonly red?: RedReason;
  readonly interruptions?: readonly { readonly aside?: unknown }[];
  /** The last repair produced the job's current state. */
  readonly standsRepaired?: true;
}

/**
 * `failing`: commands of its own. `worse`: the project's checks. `unended`: one of them, which ended before.
 * `still-red`: a test that the change answers for. `new-failing`: a new test. `conflict`: others changed the same lines.
 * `hook`: a command of the user's did not let it land.
 */
export type RedReason = "failing" | "worse" | "unended" | "still-red" | "new-failing" | "conflict" | "hook";

export function toKeptStatus(red: RedReason | undefined): "preview" | "worse" | "unended" {
  return red === "worse" || red === "unended" ? red : "preview";
}

/** `alive`: whether the process of a running job still works on it. */
export function toJobStatus(job: JobStatusFacts, alive: boolean): JobStatus {
  if (job.damaged !== undefined) return "unreadable";
  if (job.unsettled !== undefined) return alive && job.state === "staged" ? "running" : "interrupted";
  switch (job.state) {
    case "running":
      return alive ? "running" : "interrupted";
    case "undone":
      return job.changeCount > 0 ? "taken-back" : "no-change";
    case "staged": {
      const isAside = job.standsRepaired === true && job.interruptions?.at(-1)?.aside !== undefined;
      return isAside ? "interrupted" : toKeptStatus(job.red);
    }
    case "discarded":
      if (job.outcome === "answered") return "no-change";
      if (job.outcome === "aborted" && job.reason === PROCESS_DIED) return "interrupted";
      return job.outcome === "staged" ? "discarded" : "stopped";
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
  if (unsettled === "halted") return "unavailable";
  if (unsettled === "begun") return changeCount > 0 ? "available" : "none";
  if (state === "undone") return changeCount > 0 ? "undone" : "none";
  if (state === "evicted" || kind === "none") return "unavailable";
  return state === "committed" && changeCount > 0 ? "available" : "none";
}

/** A button under a reply, and the message that pressing it sends. */
export interface JobAction {
  readonly label: string;
  /** For readers of each language; buttons about jobs are rebuilt instead. */
  readonly labels?: WordsByLocale;
  readonly message: string;
}

export interface JobActionLabels {
  readonly undo: string;
  readonly redo: string;
  readonly apply: string;
  readonly diff: string;
  readonly discard: string;
}

/** The facts about a job that decide which actions are possible. */
export interface ActionJob {
  readonly jobId: string;
  readonly groupId: string;
  readonly state: string;
  readonly kind: string;
  readonly changes: readonly unknown[];
}

/**
 * The actions that are possible now with the jobs of one message. Each button names its subject: the job
 * where one changed something, their group where several did.
 */
export function jobActions(jobs: readonly ActionJob[], labels: JobActionLabels): JobAction[] {
  const preview = jobs.find(({ state }) => state === "staged");
  if (preview !== undefined)
    return [
      { label: labels.apply, message: `/apply ${preview.jobId}` },
      { label: labels.diff, message: `/diff ${preview.jobId}` },
      { label: labels.discard, message: `/discard ${preview.jobId}` },
    ];
  const kept = jobs.filter(({ state, kind, changes }) => {
    const undo = toUndoState({ state, kind, changeCount: changes.length });
    return undo === "available" || undo === "undone";
  });
  const [first] = kept;
  if (first === undefined) return [];
  const name = kept.length === 1 ? first.jobId : first.groupId;
  if (kept.every(({ state }) => state === "undone"))
    return [{ label: labels.redo, message: `/redo ${name}` }];
  return [
    { label: labels.undo, message: `/undo ${name}` },
    { label: labels.diff, message: `/diff ${name}` },
  ];
}

/** The job or group that a button names: "" for one of an older version, which named none; null for other buttons. */
export function jobNamedInButton(message: string): string | null {
  return /^\/(?:undo|redo|apply|diff|discard)(?: +(\S+))?$/.exec(message)?.slice(1).join("") ?? null;
}
