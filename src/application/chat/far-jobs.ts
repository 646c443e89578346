import type { FileDifference, StoredJob } from "../ports/jobs.ts";
import type { ActionFacts } from "../jobs/action-report.ts";

/** Jobs that other machines hold. Null: there is none of this id, or it is not the asker's. */
export type FarJobs = (
  asker: { readonly channel: string; readonly userId: string },
  jobId: string,
) => Promise<FarJob | null>;

/** What is asked of it is an order to its machine. */
export interface FarJob {
  readonly job: StoredJob;
  readonly machine: string;
  act(action: "undo" | "redo" | "apply" | "discard", force?: boolean): Promise<ActionFacts>;
  /** Null: the machine does not answer. */
  differences(): Promise<readonly FileDifference[] | null>;
}
