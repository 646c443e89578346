import type { Worded } from "../texts/worded.ts";
import { toUndoState } from "./job-status.ts";

/** A button under a reply, and the message that pressing it sends. */
export interface JobAction {
  readonly label: string;
  /** For readers of each language; buttons about jobs are drawn anew instead. */
  readonly labels?: Worded;
  readonly message: string;
}

export interface JobActionLabels {
  readonly undo: string;
  readonly redo: string;
  readonly apply: string;
  readonly diff: string;
}

/** What of a job decides what can be done with it. */
export interface ActionJob {
  readonly jobId: string;
  readonly groupId: string;
  readonly state: string;
  readonly kind: string;
  readonly changes: readonly unknown[];
}

/**
 * What can be done with the jobs of one message as they are now. Each button names what it is about: the job where one
 * changed something, their group where several did.
 */
export function jobActions(jobs: readonly ActionJob[], labels: JobActionLabels): JobAction[] {
  const preview = jobs.find(({ state }) => state === "staged");
  if (preview !== undefined)
    return [
      { label: labels.apply, message: `/apply ${preview.jobId}` },
      { label: labels.diff, message: `/diff ${preview.jobId}` },
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
  return /^\/(?:undo|redo|apply|diff)(?: +(\S+))?$/.exec(message)?.slice(1).join("") ?? null;
}
