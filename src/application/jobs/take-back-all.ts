import type { StoredJob } from "../ports/jobs.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { TakeBack } from "./undo-job.ts";

export type TakeBackAllResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly direction: TakeBackStep["direction"];
      readonly stopped: Exclude<TakeBack, { status: "done" }>;
      /** Jobs that could not be swapped back afterwards: none, unless somebody changed their files in between. */
      readonly left: readonly string[];
    };

/** One job on its way out of the workspace, or in again. */
export interface TakeBackStep {
  readonly direction: "undo" | "redo";
  readonly job: StoredJob;
}

/**
 * Takes jobs back, and brings others in again, in the given order: all of them or none. What was swapped before one stood
 * in the way is swapped back. A process that dies in between leaves whole jobs, some on either side.
 */
export async function takeBackAll(
  workspace: Pick<Workspace, "takeBack">,
  steps: readonly TakeBackStep[],
): Promise<TakeBackAllResult> {
  const swap = ({ direction, job }: TakeBackStep) =>
    workspace.takeBack({ direction, name: job.jobId, force: false });
  const done: TakeBackStep[] = [];
  for (const step of steps) {
    const taken = await swap(step);
    if (taken.status === "done") {
      done.push(step);
      continue;
    }
    const left: string[] = [];
    for (const one of done.toReversed())
      if ((await swap(oppositeDirection(one))).status !== "done") left.push(one.job.jobId);
    return { ok: false, direction: step.direction, stopped: taken, left };
  }
  return { ok: true };
}

function oppositeDirection({ direction, job }: TakeBackStep): TakeBackStep {
  return { direction: direction === "undo" ? "redo" : "undo", job };
}
